import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { type Drive, SERVER } from '../driving.ts'
import { listenForCallback, providerOf } from './typescript-sdk.ts'

/** A module of a client's package. The package is not a dependency of this project, so its types are unavailable. */
// biome-ignore lint/suspicious/noExplicitAny: see above
type Loaded = any

type Call = (name: string, values: object) => Promise<unknown>

/** Loads a library. Returns a function that connects to `address` and returns a function that calls tools. */
type Open = (
  load: (name: string) => Promise<Loaded>,
  address: string,
) => Promise<(authProvider: unknown) => Promise<Call>>

/**
 * Drives a library that opens the browser and then throws. Exchanges the code with `auth` of `authModule`, and connects
 * again, as an application does.
 */
function driveLibrary(authModule: string, open: Open): Drive {
  return async (driving) => {
    const { address: serverUrl, desk, folder, use } = driving
    await using callback = await listenForCallback()
    const provider = providerOf(driving, callback.uri)
    // Add the libraries' console output to the transcript. The report itself does not use the console.
    const note = (...said: unknown[]) => desk.note(said.map(String).join(' '))
    Object.assign(console, { log: note, info: note, warn: note, error: note })
    const { resolve } = createRequire(join(folder, 'package.json'))
    const load = async (name: string) => await import(pathToFileURL(resolve(name)).href)
    const connect = await open(load, serverUrl)
    const refused = await connect(provider).catch((error: unknown) => error)
    if (!(refused instanceof Error)) throw new Error('the library connected without a sign-in')
    if (desk.opened.length === 0) throw refused
    const { code: authorizationCode, iss, state } = Object.fromEntries(await callback.arrived)
    const { auth } = await load(authModule)
    // The AI SDK has its own names for the last two parameters.
    const returned = { authorizationCode, iss, callbackIssuer: iss, callbackState: state }
    await auth(provider, { serverUrl, ...returned })
    const call = await connect(provider)
    return await use(async (name, values) => JSON.stringify(await call(name, { ...values })))
  }
}

export const driveLangchainJs: Drive = driveLibrary(
  '@modelcontextprotocol/sdk/client/auth.js',
  async (load, url) => {
    const { MultiServerMCPClient } = await load('@langchain/mcp-adapters')
    return async (authProvider) => {
      const server = { transport: 'http', url, authProvider, automaticSSEFallback: false }
      const tools = await new MultiServerMCPClient({ [SERVER]: server }).getTools()
      // The library throws the text of a result that is marked as an error.
      return async (name, values) =>
        await tools
          .find((tool: { name: string }) => tool.name === name)
          .invoke(values)
          .catch(String)
    }
  },
)

export const driveOpenaiAgentsJs: Drive = driveLibrary(
  '@modelcontextprotocol/client',
  async (load, url) => {
    const { MCPServerStreamableHttp } = await load('@openai/agents')
    return async (authProvider) => {
      const server = new MCPServerStreamableHttp({ url, name: SERVER, authProvider })
      await server.connect()
      await server.listTools()
      return async (name, values) => await server.callTool(name, values)
    }
  },
)

export const driveAiSdk: Drive = driveLibrary('@ai-sdk/mcp', async (load, url) => {
  const { createMCPClient } = await load('@ai-sdk/mcp')
  return async (authProvider) => {
    const client = await createMCPClient({ transport: { type: 'http', url, authProvider } })
    const tools = await client.tools()
    return async (name, values) => await tools[name].execute(values, { messages: [] })
  }
})

/** Mastra's own provider does not register a client, but Mastra accepts any provider of the SDK. */
export const driveMastra: Drive = driveLibrary(
  '@modelcontextprotocol/client',
  async (load, address) => {
    const { MCPClient } = await load('@mastra/mcp')
    return async (authProvider) => {
      const server = { url: new URL(address), authProvider }
      const client = new MCPClient({ id: crypto.randomUUID(), servers: { [SERVER]: server } })
      const tools = await client.listTools()
      if (client.getServerAuthState(SERVER) === 'needs-auth') throw new Error('needs a sign-in')
      return async (name, values) =>
        await tools[`${SERVER}_${name}`].execute(values, {}).catch(String)
    }
  },
)
