import { join } from 'node:path'

import { ask, type Drive, type Driving, QUESTION, SERVER } from '../driving.ts'

/** A specific model, so that the client does not first ask a model which one to use. */
const MODEL = 'gemini-2.5-flash'

/** Without `oauth.scopes`, Gemini CLI requests every scope. With `oauth.enabled`, it ignores the scopes and client_id. */
export const driveGeminiCli: Drive = driveWith(async ({ clientId, scopes }) => ({
  oauth: { clientId, scopes: await scopes() },
}))

/** Uses only the settings that `gemini mcp add --transport http` writes. */
export const driveGeminiCliAsAdded: Drive = driveWith(async () => ({}))

function driveWith(settings: (driving: Driving) => Promise<object>): Drive {
  return async (driving) => {
    const { address, folder, desk, model } = driving
    const server = { httpUrl: address, trust: true, ...(await settings(driving)) }
    const configuration = {
      mcpServers: { [SERVER]: server },
      security: { auth: { selectedType: 'gemini-api-key' } },
      general: { disableAutoUpdate: true },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
    }
    desk.write('.gemini/settings.json', JSON.stringify(configuration))
    const file = join(folder, 'node_modules/.bin/gemini')
    const program = [process.execPath, file, '--skip-trust', '-m', MODEL]
    const environment = {
      GEMINI_API_KEY: 'none',
      GOOGLE_GEMINI_BASE_URL: model.url,
      // Gemini CLI opens a browser only if there is a display.
      DISPLAY: ':0',
    }
    const command = [...program, '-p', `/mcp auth ${SERVER}`]
    const reply = { to: 'Do you want to continue?', type: 'Y\n' }
    const { output } = await desk.run({ command, environment, reply })
    // Check the output, because the exit code reports only that the command needs a terminal.
    if (!output.includes('Successfully authenticated'))
      throw new Error('Gemini CLI did not report a successful sign-in')
    return await ask(driving, [...program, '-p', QUESTION], environment)
  }
}
