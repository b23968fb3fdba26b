import { join } from 'node:path'

import { type Drive, SERVER } from '../driving.ts'

export const driveMcporter: Drive = async ({ way, address, clientId, folder, desk }) => {
  const server = {
    baseUrl: address,
    auth: 'oauth',
    ...(clientId !== undefined && { oauthClientId: clientId }),
  }
  const file = desk.write('mcporter.json', JSON.stringify({ mcpServers: { [SERVER]: server } }))
  const program = [process.execPath, join(folder, 'node_modules/.bin/mcporter'), '--config', file]
  await desk.succeed({ command: [...program, 'auth', SERVER] })
  const { stdout } = await desk.succeed({ command: [...program, 'call', `${SERVER}.${way.tool}`] })
  return stdout
}
