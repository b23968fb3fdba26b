import { join } from 'node:path'

import { type Drive, QUESTION, SERVER } from '../driving.ts'

export const driveOpencode: Drive = async ({ address, clientId, folder, desk, model }) => {
  const name = `opencode-${process.platform}-${process.arch}`
  const program = join(folder, 'node_modules', name, 'bin/opencode')
  const standIn = {
    npm: '@ai-sdk/openai-compatible',
    options: { baseURL: `${model.url}/v1`, apiKey: 'none' },
    models: { 'stand-in': {} },
  }
  const server = {
    type: 'remote',
    url: address,
    ...(clientId !== undefined && { oauth: { clientId } }),
  }
  desk.write(
    '.config/opencode/opencode.json',
    JSON.stringify({
      autoupdate: false,
      mcp: { [SERVER]: server },
      provider: { 'stand-in': standIn },
      model: 'stand-in/stand-in',
      small_model: 'stand-in/stand-in',
    }),
  )
  const environment = {
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
  }
  await desk.succeed({ command: [program, 'mcp', 'auth', SERVER], environment })
  const { stdout } = await desk.succeed({ command: [program, 'run', QUESTION], environment })
  return stdout
}
