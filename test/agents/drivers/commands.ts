import { join } from 'node:path'

import { freePort } from '../../support/programs.ts'
import { ask, type Drive, type Driving, QUESTION, SERVER } from '../driving.ts'

/** The platform suffix in the names of npm packages that contain a native program. */
const machine = `${process.platform}-${process.arch}`

/** Returns the command that runs a client from npm. */
const programOf = ({ folder }: Driving, name: string) =>
  [process.execPath, join(folder, 'node_modules/.bin', name)] as const

/** Returns the arguments of a tool call as `name=value` arguments of a command. */
const assigned = (values: object) =>
  Object.entries(values).map(([name, value]) => `${name}=${value}`)

/** Returns the option that sets the client_id. Returns no option for a client that registers itself. */
const optionOf = ({ clientId }: Driving, option: string) =>
  clientId === undefined ? [] : [option, clientId]

export const driveCodex: Drive = async (driving) => {
  const { address, desk, model } = driving
  const program = programOf(driving, 'codex')
  const configuration = `model = "stand-in"
model_provider = "stand-in"
mcp_oauth_credentials_store = "file"
check_for_update_on_startup = false
[model_providers.stand-in]
name = "stand-in"
base_url = "${model.url}/v1"
wire_api = "responses"
`
  desk.write('.codex/config.toml', configuration)
  const registered = optionOf(driving, '--oauth-client-id')
  // Adding a server that requires a token starts the sign-in.
  await desk.succeed([...program, 'mcp', 'add', SERVER, '--url', address, ...registered])
  // Without a terminal, Codex cannot ask its user to confirm each change.
  const silent = '--dangerously-bypass-approvals-and-sandbox'
  return await ask(driving, [...program, 'exec', silent, '--skip-git-repo-check', QUESTION])
}

export const driveClaudeCode: Drive = async (driving) => {
  const { address, clientId, folder, desk, model } = driving
  // Run this program directly, because the package's command only starts it.
  const program = join(folder, 'node_modules/@anthropic-ai', `claude-code-${machine}`, 'claude')
  const environment = {
    ...{ ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'none', ENABLE_TOOL_SEARCH: 'false' },
    ...{ DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
  }
  const port = ['--callback-port', String(await freePort())]
  const registered = clientId === undefined ? [] : ['--client-id', clientId, ...port]
  const server = ['--transport', 'http', ...registered, SERVER, address]
  await desk.succeed([program, 'mcp', 'add', '--scope', 'user', ...server], environment)
  // Claude Code signs in only in a terminal, which `script` provides.
  await desk.succeed(['script', '-qec', `${program} mcp login ${SERVER}`, '/dev/null'], environment)
  const allowed = ['--allowedTools', `mcp__${SERVER}`]
  return await ask(driving, [program, '-p', QUESTION, ...allowed], environment)
}

export const driveCopilot: Drive = async (driving) => {
  const { address, clientId, folder, desk, model } = driving
  const program = join(folder, 'node_modules/@github', `copilot-${machine}`, 'copilot')
  const registered =
    clientId === undefined ? {} : { oauthClientId: clientId, oauthPublicClient: true }
  const server = { type: 'http', url: address, tools: ['*'], ...registered }
  desk.write('.copilot/mcp-config.json', JSON.stringify({ mcpServers: { [SERVER]: server } }))
  // With these variables, Copilot needs no account. The `sleep` lets it connect to the server before the model answers.
  const environment = {
    ...{ COPILOT_PROVIDER_BASE_URL: `${model.url}/v1`, COPILOT_MODEL: 'stand-in', TERM: 'xterm' },
    ...{ COPILOT_OFFLINE: 'true', COPILOT_ALLOW_ALL: 'true' },
    COPILOT_PROVIDER_API_KEY_COMMAND: 'sleep 3; echo none',
  }
  // Copilot signs in only in a terminal (`script` provides one). It does not exit, so kill it once it has listed the tools.
  const listed = `${desk.home}/.cache/copilot/mcp-tools/*.json`
  const wait = `until ls ${listed}; do sleep 0.1; done > /dev/null 2>&1; kill $$`
  const command = ['script', '-qec', `(${wait}) & exec ${program}`, '/dev/null']
  await desk.run({ command, environment })
  return await ask(driving, [program, '--silent', '-p', QUESTION], environment)
}

export const driveInspector: Drive = async (driving) => {
  const { address, desk, use } = driving
  const program = [...programOf(driving, 'mcp-inspector'), '--cli', address, '--transport', 'http']
  const callback = ['--callback-url', `http://127.0.0.1:${await freePort()}/oauth/callback`]
  const command = [...program, ...callback, ...optionOf(driving, '--client-id')]
  return await use(async (tool, values) => {
    const given = assigned(values).flatMap((each) => ['--tool-arg', each])
    const call = ['--method', 'tools/call', '--tool-name', tool, ...given]
    // MCP_AUTO_OPEN_ENABLED makes the inspector open a browser even without a terminal. Exit code 5 means a tool error.
    const environment = { MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file' }
    return (await desk.run({ command: [...command, ...call], environment })).output
  })
}

export const driveMcporter: Drive = async (driving) => {
  const { address: baseUrl, clientId: oauthClientId, desk, use } = driving
  const server = { baseUrl, auth: 'oauth', oauthClientId }
  const file = desk.write('mcporter.json', JSON.stringify({ mcpServers: { [SERVER]: server } }))
  const program = [...programOf(driving, 'mcporter'), '--config', file]
  await desk.succeed([...program, 'auth', SERVER])
  return await use(async (tool, values) => {
    const command = [...program, 'call', `${SERVER}.${tool}`, ...assigned(values)]
    // MCPorter exits with 1 for a result that is marked as an error.
    return (await desk.run({ command })).output
  })
}

export const driveOpencode: Drive = async (driving) => {
  const { address: url, clientId, folder, desk, model } = driving
  const program = join(folder, 'node_modules', `opencode-${machine}`, 'bin/opencode')
  const standIn = {
    npm: '@ai-sdk/openai-compatible',
    options: { baseURL: `${model.url}/v1`, apiKey: 'none' },
    models: { 'stand-in': {} },
  }
  const server = { type: 'remote', url, oauth: clientId === undefined ? undefined : { clientId } }
  const configuration = {
    autoupdate: false,
    mcp: { [SERVER]: server },
    provider: { 'stand-in': standIn },
    model: 'stand-in/stand-in',
    small_model: 'stand-in/stand-in',
  }
  desk.write('.config/opencode/opencode.json', JSON.stringify(configuration))
  const environment = {
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
  }
  await desk.succeed([program, 'mcp', 'auth', SERVER], environment)
  return await ask(driving, [program, 'run', QUESTION], environment)
}

/** Drives an application with a Python library: a script beside this file, run in the library's virtual environment. */
export function drivePython(script: string): Drive {
  return async ({ way, address, clientId = [], folder, desk }) => {
    const program = [join(folder, 'bin/python'), join(import.meta.dirname, script)]
    return await desk.succeed([...program, address, JSON.stringify(way.calls), clientId].flat())
  }
}

/** Drives an application in Go or Rust, which was built when it was installed. */
export const driveProgram: Drive = async (driving) => {
  const { way, address, clientId = [], scopes, folder, desk } = driving
  const words = [address, JSON.stringify(way.calls), (await scopes()).join(' '), clientId]
  return await desk.succeed([join(folder, 'program'), words].flat(2))
}
