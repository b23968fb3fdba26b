import { createServer } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import type * as sdk2 from '@modelcontextprotocol/client'
import type * as sdk1Auth from '@modelcontextprotocol/sdk/client/auth.js'
import type * as sdk1Client from '@modelcontextprotocol/sdk/client/index.js'
import type * as sdk1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport as Transport1 } from '@modelcontextprotocol/sdk/shared/transport.js'

import { listen } from '../../support/listen.ts'
import { makeSdkState } from '../../support/mcp.ts'
import type { Drive, Driving } from '../driving.ts'

const me = { name: 'an application with the SDK', version: '1.0.0' }

export function providerOf({ clientId, desk, address }: Driving, redirectUri: string) {
  const issuer = new URL(address).origin
  const client = clientId === undefined ? undefined : { client_id: clientId, issuer }
  return makeSdkState(client, redirectUri, async ({ href }) => await desk.open(href)).provider
}

/** Drives version 1 of the SDK, which is `@modelcontextprotocol/sdk`. */
export const driveSdk1: Drive = async (driving) => {
  await using callback = await listenForCallback()
  const load = loaderOf(
    join(driving.folder, 'node_modules/@modelcontextprotocol/sdk/dist/esm/client'),
  )
  const { Client } = await load<typeof sdk1Client>('index.js')
  const { StreamableHTTPClientTransport } = await load<typeof sdk1Http>('streamableHttp.js')
  const { UnauthorizedError } = await load<typeof sdk1Auth>('auth.js')
  const authProvider = providerOf(driving, callback.uri) as sdk1Auth.OAuthClientProvider
  const open = () => new StreamableHTTPClientTransport(new URL(driving.address), { authProvider })

  const first = open()
  const refused = await new Client(me).connect(first as Transport1).catch((error: unknown) => error)
  if (!(refused instanceof UnauthorizedError))
    throw refused ?? new Error('the SDK did not ask to sign in')
  await first.finishAuth((await callback.arrived).get('code') ?? '')
  const client = new Client(me)
  await client.connect(open() as Transport1)
  return await callToolsOf(client, driving)
}

/** Drives version 2 of the SDK, which is `@modelcontextprotocol/client`. */
export const driveSdk2: Drive = async (driving) => {
  await using callback = await listenForCallback()
  const load = loaderOf(join(driving.folder, 'node_modules/@modelcontextprotocol/client/dist'))
  const { Client, StreamableHTTPClientTransport, UnauthorizedError } =
    await load<typeof sdk2>('index.mjs')
  const authProvider = providerOf(driving, callback.uri)
  const open = () => new StreamableHTTPClientTransport(new URL(driving.address), { authProvider })
  const make = () => new Client(me, { versionNegotiation: { mode: 'auto' } })

  const first = open()
  const refused = await make()
    .connect(first)
    .catch((error: unknown) => error)
  if (!(refused instanceof UnauthorizedError))
    throw refused ?? new Error('the SDK did not ask to sign in')
  await first.finishAuth(await callback.arrived)
  const client = make()
  await client.connect(open())
  return await callToolsOf(client, driving)
}

/** Calls the tools. Lists them first, because a client validates only the results of listed tools. */
async function callToolsOf(client: sdk1Client.Client | sdk2.Client, { use }: Driving) {
  await client.listTools()
  const answers = await use(async (name, values) =>
    JSON.stringify(await client.callTool({ name, arguments: { ...values } })),
  ).catch((error: unknown) => {
    throw new Error(`${error}\nIts model reads: ${client.getInstructions()}`)
  })
  await client.close()
  return answers
}

function loaderOf(folder: string) {
  return async <Module>(file: string): Promise<Module> =>
    await import(pathToFileURL(join(folder, file)).href)
}

/** Listens at a loopback redirect URI for the code (RFC 8252 §7.3). */
export async function listenForCallback() {
  const { promise, resolve } = Promise.withResolvers<URLSearchParams>()
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (pathname !== '/callback') return response.writeHead(404).end()
    resolve(searchParams)
    return response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<h1>You may close this</h1>')
  })
  const listening = await listen(server)
  return { ...listening, uri: `${listening.url}/callback`, arrived: promise }
}
