import { join } from 'node:path'

import { freePort } from '../../support/programs.ts'
import type { Drive } from '../driving.ts'

export const driveInspector: Drive = async ({ way, address, clientId, folder, desk }) => {
  const program = join(folder, 'node_modules/.bin/mcp-inspector')
  const call = ['--method', 'tools/call', '--tool-name', way.tool]
  const registered = clientId === undefined ? [] : ['--client-id', clientId]
  const command = [process.execPath, program, '--cli', address, '--transport', 'http']
  const callback = ['--callback-url', `http://127.0.0.1:${await freePort()}/oauth/callback`]
  const { stdout } = await desk.succeed({
    command: [...command, ...call, ...callback, ...registered],
    // Without a terminal it opens a browser only with this variable.
    environment: { MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'memory' },
  })
  return stdout
}
