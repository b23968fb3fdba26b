import { join } from 'node:path'

import type { Package } from '../support/install.ts'
import { renderTable } from '../support/markdown.ts'
import * as commands from './drivers/commands.ts'
import { driveGeminiCli, driveGeminiCliAsAdded } from './drivers/gemini-cli.ts'
import { driveJava } from './drivers/java.ts'
import { driveMcpRemote, driveMcpRemoteWithScopes } from './drivers/mcp-remote.ts'
import * as libraries from './drivers/node-libraries.ts'
import { driveSdk1, driveSdk2 } from './drivers/typescript-sdk.ts'
import { driveUseMcp } from './drivers/use-mcp.ts'
import { type Drive, type WayName, ways } from './driving.ts'

export type Known = Readonly<Record<'reason' | 'sentence', string>>

export interface Agent {
  readonly name: string
  readonly package: Package
  /** How users set the client up, in the terms of its own documentation. */
  readonly setUp: string
  /** The redirect URI that an operator enters for the client. A loopback URI may use any port (RFC 8252 §7.3). */
  readonly callback: string
  readonly drive: Drive
  /** The URL of its client metadata document, which an operator must approve before the client may change anything. */
  readonly document?: string
  readonly known?: Readonly<Partial<Record<WayName, Known>>>
}

const geminiAsksForAll: Known = {
  reason: 'without `oauth.scopes`, it requests all scopes in discovery, which no client may have',
  sentence: 'OAuth callback received error: invalid_scope',
}

const mcpRemoteAsksForNothing: Known = {
  reason: 'it requests no scope, so its request is rejected',
  sentence: 'Error: No authorization code received',
}

const refreshes: NonNullable<Agent['known']> = {
  later: {
    reason: 'with a grant for reads, it refreshes its token instead of asking for more',
    sentence: 'let the person connect to a URL that names these areas',
  },
}

const knownInEach = (known: Known) => ({ member: known, operator: known, changes: known })

type Own = Pick<Agent, 'setUp' | 'document' | 'known'> &
  Partial<Pick<Agent, 'callback'> & Pick<Package, 'with' | 'registry' | 'source'>>

/**
 * Describes a client. `pinned` is its exact version on npm (`name@1.2.3`) or PyPI (`name==1.2.3`). `source` is a folder
 * in `drivers` to build, whose go.mod, Cargo.toml or pom.xml names the same version.
 */
function client(name: string, pinned: string, drive: Drive, own: Own): Agent {
  const [, module = '', at = '', version = ''] = /^(.+)(@|==)(.+)$/.exec(pinned) ?? []
  const { with: others = [], registry = at === '@' ? 'npm' : 'pypi', source, ...described } = own
  const built = source && { source: join(import.meta.dirname, 'drivers', source) }
  return {
    ...{ name, drive, callback: 'http://127.0.0.1/callback', ...described },
    package: { registry, name: module, version, with: others, ...built },
  }
}

const { driveProgram, drivePython: python } = commands
const atLocalhost = { callback: 'http://localhost/oauth/callback' }
const gemini = ['Gemini CLI', '@google/gemini-cli@0.61.0'] as const
const mcpRemote = (version: string, drive: Drive, own: Own) =>
  client('mcp-remote', `mcp-remote@${version}`, drive, { ...atLocalhost, ...own })

export const agents: readonly Agent[] = [
  client('TypeScript SDK 1', '@modelcontextprotocol/sdk@1.32.2', driveSdk1, {
    ...{ setUp: '`authProvider` of the transport', known: refreshes },
  }),
  client('TypeScript SDK 2', '@modelcontextprotocol/client@2.4.0', driveSdk2, {
    setUp: '`authProvider` of the transport',
  }),
  ...['0.1.37', '0.15.1'].map((version) =>
    mcpRemote(version, driveMcpRemote, {
      setUp: 'the URL, and `--static-oauth-client-info` for a client_id',
    }),
  ),
  mcpRemote('0.1.18', driveMcpRemoteWithScopes, {
    setUp: '`--static-oauth-client-metadata` with the scopes',
  }),
  mcpRemote('0.1.18', driveMcpRemote, {
    ...{ setUp: 'only the URL', known: knownInEach(mcpRemoteAsksForNothing) },
  }),
  client(
    'MCP Inspector, command line',
    '@modelcontextprotocol/inspector@2.12.0',
    commands.driveInspector,
    {
      callback: 'http://127.0.0.1/oauth/callback',
      setUp: '`--cli` with the URL and `--client-id`',
    },
  ),
  client('mcporter', 'mcporter@0.12.3', commands.driveMcporter, {
    setUp: '`auth: oauth` and `oauthClientId`, then `mcporter auth`',
  }),
  client('opencode', 'opencode-ai@1.18.33', commands.driveOpencode, {
    callback: 'http://127.0.0.1/mcp/oauth/callback',
    setUp: '`mcp` with `oauth.clientId`, then `opencode mcp auth`',
    known: refreshes,
  }),
  client('Claude Code', '@anthropic-ai/claude-code@2.1.332', commands.driveClaudeCode, {
    callback: 'http://localhost/callback',
    setUp: '`claude mcp add --transport http` with `--client-id`, then `claude mcp login`',
    document: 'https://claude.ai/oauth/claude-code-client-metadata',
  }),
  client('Codex', '@openai/codex@0.169.0', commands.driveCodex, {
    setUp: '`codex mcp add --url` with `--oauth-client-id`',
    document: 'https://chatgpt.com/oauth/codex/client.json',
  }),
  client('Copilot CLI', '@github/copilot@1.0.102', commands.driveCopilot, {
    callback: 'http://127.0.0.1/',
    setUp: '`oauthClientId` in mcp-config.json, then `copilot`',
    document: 'https://github.com/copilot/cli/client-metadata.json',
  }),
  client(...gemini, driveGeminiCli, {
    ...atLocalhost,
    setUp: '`oauth.scopes` in its settings, without `oauth.enabled`, then `/mcp auth`',
  }),
  client(...gemini, driveGeminiCliAsAdded, {
    ...{ ...atLocalhost, known: knownInEach(geminiAsksForAll) },
    setUp: '`gemini mcp add --transport http`, then `/mcp auth`',
  }),
  ...['1.30.0', '2.3.0'].map((version) =>
    client(`Python \`mcp\` ${version[0]}`, `mcp==${version}`, python('python_mcp.py'), {
      setUp: '`OAuthClientProvider`',
    }),
  ),
  client('OpenAI Agents SDK', 'openai-agents==0.24.0', python('python-openai-agents.py'), {
    setUp: '`MCPServerStreamableHttp` with `auth`',
  }),
  client('LangChain', 'langchain-mcp-adapters==0.3.2', python('python-langchain.py'), {
    setUp: '`MultiServerMCPClient` with `auth`',
  }),
  // Installs only the client of FastMCP, without its server.
  client('FastMCP', 'fastmcp-slim[client]==4.1.6', python('python-fastmcp.py'), {
    ...{ callback: 'http://localhost/callback', setUp: '`OAuth(client_id=…)`' },
  }),
  client('Pydantic AI', 'pydantic-ai-slim[mcp]==2.68.0', python('python-pydantic-ai.py'), {
    setUp: '`MCPToolset` with `auth`',
  }),
  client('LlamaIndex', 'llama-index-tools-mcp==0.6.0', python('python-llama-index.py'), {
    setUp: '`BasicMCPClient` with `auth`',
  }),
  client('Go SDK', 'github.com/modelcontextprotocol/go-sdk@1.8.0', driveProgram, {
    ...{ registry: 'go', source: 'go/official', setUp: '`OAuthHandler` of the transport' },
  }),
  client('mcp-go', 'github.com/mark3labs/mcp-go@1.2.1', driveProgram, {
    ...{ registry: 'go', source: 'go/mark3labs', setUp: '`OAuthConfig` with the scopes' },
  }),
  client('Rust SDK', 'rmcp@3.11.0', driveProgram, {
    ...{ registry: 'crates', source: 'rust', setUp: '`OAuthState`, then `AuthClient`' },
  }),
  client('Java SDK', 'io.modelcontextprotocol.sdk:mcp@2.1.0', driveJava, {
    ...{ registry: 'maven', source: 'java' },
    setUp: '`httpRequestCustomizer` with a token that your application requests',
  }),
  client('LangChain.js', '@langchain/mcp-adapters@1.1.4', libraries.driveLangchainJs, {
    ...{ setUp: '`authProvider` of the server', with: ['@langchain/core@1.4.0'] },
  }),
  client(
    'OpenAI Agents SDK for JavaScript',
    '@openai/agents@0.20.0',
    libraries.driveOpenaiAgentsJs,
    {
      setUp: '`authProvider` of the server',
    },
  ),
  client('AI SDK', '@ai-sdk/mcp@2.0.99', libraries.driveAiSdk, {
    setUp: '`authProvider` of the transport',
  }),
  client('Mastra', '@mastra/mcp@2.0.0', libraries.driveMastra, {
    ...{ setUp: '`authProvider` of the server', with: ['@mastra/core@1.71.0'] },
  }),
  client('use-mcp', 'use-mcp@0.0.21', driveUseMcp, {
    setUp: '`useMcp`; `saveClientInformation` of its `BrowserOAuthClientProvider` for a client_id',
    with: [
      ...['@modelcontextprotocol/sdk@1.32.2', 'react@18.3.1', 'react-dom@18.3.1', 'esbuild@0.28.2'],
    ],
  }),
]

/** The columns with results: title, key of `ways`, index of one of its calls, and wording for a successful call. */
const columns: readonly (readonly [title: string, way: WayName, call: number, what: string])[] = [
  ['as a member', 'member', 0, 'calls'],
  ['operator: reads', 'operator', 0, 'calls'],
  ['writes', 'changes', 0, 'calls'],
  ['approval', 'changes', 1, 'approved in the browser, calls'],
]

export function renderClients(): string {
  const titles = ['client', 'package', 'set up by', ...columns.map(([title]) => title)]
  const rows = agents.map((client) => [
    client.name,
    `\`${client.package.name}\` ${client.package.version}`,
    client.setUp,
    ...columns.map(([, way, call, what]) =>
      resultOf(client, way, `${what} \`${ways[way].calls[call]?.tool}\``),
    ),
  ])
  return renderTable(titles, rows)
}

function resultOf({ known }: Agent, way: WayName, works: string): string {
  const failing = known?.[way]
  return failing === undefined
    ? works
    : `no: ${failing.reason}. The user sees “${failing.sentence}”`
}
