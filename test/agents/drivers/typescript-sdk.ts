import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import type * as sdk2 from '@modelcontextprotocol/client'

import { makeSdkState } from '../../support/mcp.ts'
import { serve } from '../../support/serve.ts'
import type { Drive, Driving } from '../driving.ts'

const me = { name: 'an application with the SDK', version: '1.0.0' }

export function providerOf({ clientId, desk, address }: Driving, redirectUri: string) {
  const issuer = new URL(address).origin
  const client = clientId === undefined ? undefined : { client_id: clientId, issuer }
  return makeSdkState(client, redirectUri, async ({ href }) => await desk.open(href)).provider
}

/** Drives version 1 of the SDK, which is `@modelcontextprotocol/sdk`. */
export const driveSdk1: Drive = driveSdk(
  ['index.js', 'streamableHttp.js', 'auth.js'].map(
    (file) => `@modelcontextprotocol/sdk/dist/esm/client/${file}`,
  ),
  (callback) => callback.get('code') ?? '',
)

/** Drives version 2 of the SDK, which is `@modelcontextprotocol/client`. */
export const driveSdk2: Drive = driveSdk(
  ['@modelcontextprotocol/client/dist/index.mjs'],
  (callback) => callback,
)

/** Drives the SDK that `files` export. `resultOf` converts the callback's parameters to the argument of `finishAuth`. */
function driveSdk(
  files: readonly string[],
  resultOf: (callback: URLSearchParams) => URLSearchParams | string,
): Drive {
  return async (driving) => {
    await using callback = await listenForCallback()
    const modules = files.map((file) => pathToFileURL(join(driving.folder, 'node_modules', file)))
    const loaded = await Promise.all(modules.map(({ href }) => import(href)))
    const { Client, StreamableHTTPClientTransport, UnauthorizedError }: typeof sdk2 = Object.assign(
      {},
      ...loaded,
    )
    const authProvider = providerOf(driving, callback.uri)
    const open = () => new StreamableHTTPClientTransport(new URL(driving.address), { authProvider })
    const make = () => new Client(me, { versionNegotiation: { mode: 'auto' } })

    const first = open()
    const refused = await make()
      .connect(first)
      .catch((error: unknown) => error)
    if (!(refused instanceof UnauthorizedError))
      throw refused ?? new Error('the SDK did not ask to sign in')
    await first.finishAuth(resultOf(await callback.arrived) as URLSearchParams)
    const client = make()
    await client.connect(open())
    // A client validates only the results of tools that it has listed.
    await client.listTools()
    const answers = await driving
      .use(async (name, values) =>
        JSON.stringify(await client.callTool({ name, arguments: { ...values } })),
      )
      .catch((error: unknown) => {
        throw new Error(`${error}\nIts model reads: ${client.getInstructions()}`)
      })
    await client.close()
    return answers
  }
}

/** Listens at a loopback redirect URI for the code (RFC 8252 §7.3). */
export async function listenForCallback() {
  const { promise, resolve } = Promise.withResolvers<URLSearchParams>()
  const served = await serve((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (pathname !== '/callback') return void response.writeHead(404).end()
    resolve(searchParams)
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>You may close this</h1>')
  })
  return { ...served, uri: `${served.url}/callback`, arrived: promise }
}
