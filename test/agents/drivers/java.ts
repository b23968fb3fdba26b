import { delimiter } from 'node:path'

import { auth } from '@modelcontextprotocol/client'

import type { Drive } from '../driving.ts'
import { listenForCallback, providerOf } from './typescript-sdk.ts'

/** The Java SDK only sends a token, so the TypeScript SDK obtains it. A real application would use an OAuth library. */
export const driveJava: Drive = async (driving) => {
  const { way, address: serverUrl, folder, desk } = driving
  await using callback = await listenForCallback()
  const provider = providerOf(driving, callback.uri)
  await auth(provider, { serverUrl })
  const arrived = await callback.arrived
  const [authorizationCode, iss] = [arrived.get('code') ?? '', arrived.get('iss') ?? '']
  await auth(provider, { serverUrl, authorizationCode, iss })
  const { access_token: ACCESS_TOKEN = '' } = (await provider.tokens()) ?? {}
  const classes = [folder, `${folder}/*`].join(delimiter)
  const program = ['java', '-cp', classes, 'Program', serverUrl, JSON.stringify(way.calls)]
  return await desk.succeed(program, { ACCESS_TOKEN })
}
