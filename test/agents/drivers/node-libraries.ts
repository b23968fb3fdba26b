import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { type Drive, type Driving, SERVER } from '../driving.ts'
import { listenForCallback, providerOf } from './typescript-sdk.ts'

/** A run installs the packages. They are not dependencies of this project, so they have no types here. */
// biome-ignore lint/suspicious/noExplicitAny: see above
type Loaded = any

type Call = (name: string, values: object) => Promise<unknown>

/** An application that uses a library. `finish` exchanges the code that its callback received. */
interface Library {
  connect(provider: unknown): Promise<Call>
  finish(provider: unknown, callback: URLSearchParams): Promise<unknown>
}

/** Drives a library that opens the browser and then throws. Its application exchanges the code and connects again. */
function driveLibrary(open: (driving: Driving) => Promise<Library>): Drive {
  return async (driving) => {
    await using callback = await listenForCallback()
    const provider = providerOf(driving, callback.uri)
    // Add what the libraries log to the transcript. The report itself does not use the console.
    const note = (...said: unknown[]) => driving.desk.note(said.map(String).join(' '))
    Object.assign(console, { log: note, info: note, warn: note, error: note })
    const library = await open(driving)
    const refused = await library.connect(provider).catch((error: unknown) => error)
    if (!(refused instanceof Error)) throw new Error('the library connected without a sign-in')
    if (driving.desk.opened.length === 0) throw refused
    await library.finish(provider, await callback.arrived)
    const call = await library.connect(provider)
    return await driving.use(async (name, values) =>
      JSON.stringify(await call(name, { ...values })),
    )
  }
}

function loaderOf({ folder }: Driving) {
  const { resolve } = createRequire(join(folder, 'package.json'))
  return async (name: string): Promise<Loaded> => await import(pathToFileURL(resolve(name)).href)
}

export const driveLangchainJs: Drive = driveLibrary(async (driving) => {
  const load = loaderOf(driving)
  const { MultiServerMCPClient } = await load('@langchain/mcp-adapters')
  const { auth } = await load('@modelcontextprotocol/sdk/client/auth.js')
  const { address } = driving
  return {
    async connect(authProvider) {
      const server = { transport: 'http', url: address, authProvider, automaticSSEFallback: false }
      const tools = await new MultiServerMCPClient({ [SERVER]: server }).getTools()
      // The library throws the text of a result that is marked as an error.
      return async (name, values) =>
        await tools
          .find((tool: { name: string }) => tool.name === name)
          .invoke(values)
          .catch(String)
    },
    finish: async (provider, callback) =>
      await auth(provider, { serverUrl: address, authorizationCode: callback.get('code') }),
  }
})

export const driveOpenaiAgentsJs: Drive = driveLibrary(async (driving) => {
  const load = loaderOf(driving)
  const { MCPServerStreamableHttp } = await load('@openai/agents')
  const { auth } = await load('@modelcontextprotocol/client')
  const { address: url } = driving
  return {
    async connect(authProvider) {
      const server = new MCPServerStreamableHttp({ url, name: SERVER, authProvider })
      await server.connect()
      await server.listTools()
      return async (name, values) => await server.callTool(name, values)
    },
    finish: async (provider, callback) => {
      const [authorizationCode, iss] = [callback.get('code'), callback.get('iss')]
      await auth(provider, { serverUrl: url, authorizationCode, iss })
    },
  }
})

export const driveAiSdk: Drive = driveLibrary(async (driving) => {
  const { createMCPClient, auth } = await loaderOf(driving)('@ai-sdk/mcp')
  const { address: url } = driving
  return {
    async connect(authProvider) {
      const client = await createMCPClient({ transport: { type: 'http', url, authProvider } })
      const tools = await client.tools()
      return async (name, values) => await tools[name].execute(values, { messages: [] })
    },
    finish: async (provider, callback) => {
      const [authorizationCode, callbackIssuer] = [callback.get('code'), callback.get('iss')]
      const callbackState = callback.get('state') ?? undefined
      await auth(provider, { serverUrl: url, authorizationCode, callbackIssuer, callbackState })
    },
  }
})

/** Mastra's own provider does not register a client, but Mastra accepts any provider of the SDK. */
export const driveMastra: Drive = driveLibrary(async (driving) => {
  const load = loaderOf(driving)
  const { MCPClient } = await load('@mastra/mcp')
  const { auth } = await load('@modelcontextprotocol/client')
  const { address } = driving
  return {
    async connect(authProvider) {
      const server = { url: new URL(address), authProvider }
      const client = new MCPClient({ id: crypto.randomUUID(), servers: { [SERVER]: server } })
      const tools = await client.listTools()
      if (client.getServerAuthState(SERVER) === 'needs-auth') throw new Error('needs a sign-in')
      return async (name, values) =>
        await tools[`${SERVER}_${name}`].execute(values, {}).catch(String)
    },
    finish: async (provider, callback) => {
      const [authorizationCode, iss] = [callback.get('code'), callback.get('iss')]
      await auth(provider, { serverUrl: address, authorizationCode, iss })
    },
  }
})
