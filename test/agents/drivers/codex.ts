import { join } from 'node:path'

import { type Drive, QUESTION, SERVER } from '../driving.ts'

export const driveCodex: Drive = async ({ address, clientId, folder, desk, model }) => {
  const program = [process.execPath, join(folder, 'node_modules/.bin/codex')]
  desk.write(
    '.codex/config.toml',
    `model = "stand-in"
model_provider = "stand-in"
approval_policy = "never"
mcp_oauth_credentials_store = "file"
check_for_update_on_startup = false
[model_providers.stand-in]
name = "stand-in"
base_url = "${model.url}/v1"
wire_api = "responses"
`,
  )
  const registered = clientId === undefined ? [] : ['--oauth-client-id', clientId]
  // Adding a server that requires a token starts the sign-in.
  await desk.succeed({
    command: [...program, 'mcp', 'add', SERVER, '--url', address, ...registered],
  })
  const { stdout } = await desk.succeed({
    command: [...program, 'exec', '--skip-git-repo-check', QUESTION],
  })
  return stdout
}
