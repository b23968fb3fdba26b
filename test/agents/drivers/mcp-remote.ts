import { join } from 'node:path'

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

import { freePort } from '../../support/programs.ts'
import type { Drive, Driving } from '../driving.ts'

/** Starts mcp-remote as a host without OAuth does, and talks to it over standard streams. */
export const driveMcpRemote: Drive = driveWith(async () => [])

/** Passes the scopes to mcp-remote, because it requests none by itself. */
export const driveMcpRemoteWithScopes: Drive = driveWith(async ({ scopes }) => {
  const metadata = JSON.stringify({ scope: (await scopes()).join(' ') })
  return ['--static-oauth-client-metadata', metadata]
})

function driveWith(words: (driving: Driving) => Promise<string[]>): Drive {
  return async (driving) => {
    const { address, clientId, folder, desk, use } = driving
    const registered = ['--static-oauth-client-info', JSON.stringify({ client_id: clientId })]
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [
        join(folder, 'node_modules/mcp-remote/dist/proxy.js'),
        address,
        // By default, all versions of mcp-remote use the same port, which they derive from the URL.
        String(await freePort()),
        ...(clientId === undefined ? [] : registered),
        ...(await words(driving)),
      ],
      env: { ...desk.environment },
      cwd: desk.home,
      stderr: 'pipe',
    })
    transport.stderr?.on('data', (chunk: Buffer) => desk.note(String(chunk).trimEnd()))
    const client = new Client({ name: 'a host', version: '1.0.0' })
    desk.signal.addEventListener('abort', () => void client.close())
    try {
      await client.connect(transport)
      await client.listTools()
      return await use(async (name, values) =>
        JSON.stringify(await client.callTool({ name, arguments: { ...values } })),
      )
    } finally {
      await client.close()
    }
  }
}
