import { join } from 'node:path'

import type { Package } from '../support/install.ts'
import {
  driveClaudeCode,
  driveCodex,
  driveCopilot,
  driveFastMcp,
  driveInspector,
  driveLangchain,
  driveLlamaIndex,
  driveMcporter,
  driveOpenaiAgents,
  driveOpencode,
  driveProgram,
  drivePydanticAi,
  drivePythonMcp,
} from './drivers/commands.ts'
import { driveGeminiCli, driveGeminiCliAsAdded } from './drivers/gemini-cli.ts'
import { driveJava } from './drivers/java.ts'
import { driveMcpRemote, driveMcpRemoteWithScopes } from './drivers/mcp-remote.ts'
import {
  driveAiSdk,
  driveLangchainJs,
  driveMastra,
  driveOpenaiAgentsJs,
} from './drivers/node-libraries.ts'
import { driveSdk1, driveSdk2 } from './drivers/typescript-sdk.ts'
import { driveUseMcp } from './drivers/use-mcp.ts'
import type { Drive } from './driving.ts'
import type { WayName } from './ways.ts'

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

const gemini = of('Gemini CLI', '@google/gemini-cli@0.61.0', 'http://localhost/oauth/callback')

const geminiAsksForAll: Known = {
  reason: 'without `oauth.scopes`, it requests all scopes in discovery, which no client may have',
  sentence: 'OAuth callback received error: invalid_scope',
}

const mcpRemote = (version: string) =>
  of('mcp-remote', `mcp-remote@${version}`, 'http://localhost/oauth/callback')

const mcpRemoteAsksForNothing: Known = {
  reason: 'it requests no scope, so its request is rejected',
  sentence: 'Error: No authorization code received',
}

const refreshes: NonNullable<Agent['known']> = {
  later: {
    reason: 'with a grant for reads, it refreshes its token instead of asking for more',
    sentence: 'let the person connect to a URL such as',
  },
}

const knownInEach = (known: Known) => ({ member: known, operator: known, changes: known })

function of(
  name: string,
  pinned: string,
  callback = 'http://127.0.0.1/callback',
  others: readonly string[] = [],
): Pick<Agent, 'name' | 'package' | 'callback'> {
  const [, module = '', at = '', version = ''] = /^(.+)(@|==)(.+)$/.exec(pinned) ?? []
  const registry = at === '@' ? 'npm' : 'pypi'
  return { name, package: { registry, name: module, version, with: others }, callback }
}

/** Describes a program to build from a folder of `drivers`, whose go.mod, Cargo.toml or pom.xml names the same version. */
function built(name: string, registry: Package['registry'], pinned: string, folder: string) {
  const source = join(import.meta.dirname, 'drivers', folder)
  const others = of(name, pinned)
  return { ...others, package: { ...others.package, registry, source } }
}

export const agents: readonly Agent[] = [
  {
    ...of('TypeScript SDK 1', '@modelcontextprotocol/sdk@1.32.2'),
    ...{ setUp: '`authProvider` of the transport', drive: driveSdk1, known: refreshes },
  },
  {
    ...of('TypeScript SDK 2', '@modelcontextprotocol/client@2.4.0'),
    ...{ setUp: '`authProvider` of the transport', drive: driveSdk2 },
  },
  ...['0.1.37', '0.15.1'].map((version) => ({
    ...mcpRemote(version),
    setUp: 'the URL, and `--static-oauth-client-info` for a client_id',
    drive: driveMcpRemote,
  })),
  {
    ...mcpRemote('0.1.18'),
    setUp: '`--static-oauth-client-metadata` with the scopes',
    drive: driveMcpRemoteWithScopes,
  },
  {
    ...{ ...mcpRemote('0.1.18'), setUp: 'only the URL', drive: driveMcpRemote },
    known: knownInEach(mcpRemoteAsksForNothing),
  },
  {
    ...of('MCP Inspector, command line', '@modelcontextprotocol/inspector@2.12.0'),
    callback: 'http://127.0.0.1/oauth/callback',
    ...{ setUp: '`--cli` with the URL and `--client-id`', drive: driveInspector },
  },
  {
    ...of('mcporter', 'mcporter@0.12.3'),
    setUp: '`auth: oauth` and `oauthClientId`, then `mcporter auth`',
    drive: driveMcporter,
  },
  {
    ...of('opencode', 'opencode-ai@1.18.33', 'http://127.0.0.1/mcp/oauth/callback'),
    setUp: '`mcp` with `oauth.clientId`, then `opencode mcp auth`',
    drive: driveOpencode,
    known: refreshes,
  },
  {
    ...of('Claude Code', '@anthropic-ai/claude-code@2.1.332', 'http://localhost/callback'),
    setUp: '`claude mcp add --transport http` with `--client-id`, then `claude mcp login`',
    drive: driveClaudeCode,
    document: 'https://claude.ai/oauth/claude-code-client-metadata',
  },
  {
    ...of('Codex', '@openai/codex@0.169.0'),
    ...{ setUp: '`codex mcp add --url` with `--oauth-client-id`', drive: driveCodex },
    document: 'https://chatgpt.com/oauth/codex/client.json',
  },
  {
    ...of('Copilot CLI', '@github/copilot@1.0.102', 'http://127.0.0.1/'),
    setUp: '`oauthClientId` in mcp-config.json, then `copilot`',
    drive: driveCopilot,
    document: 'https://github.com/copilot/cli/client-metadata.json',
  },
  {
    ...gemini,
    setUp: '`oauth.scopes` in its settings, without `oauth.enabled`, then `/mcp auth`',
    drive: driveGeminiCli,
  },
  {
    ...gemini,
    setUp: '`gemini mcp add --transport http`, then `/mcp auth`',
    drive: driveGeminiCliAsAdded,
    known: knownInEach(geminiAsksForAll),
  },
  ...['1.30.0', '2.3.0'].map((version) => ({
    ...of(`Python \`mcp\` ${version[0]}`, `mcp==${version}`),
    ...{ setUp: '`OAuthClientProvider`', drive: drivePythonMcp },
  })),
  {
    ...of('OpenAI Agents SDK', 'openai-agents==0.24.0'),
    ...{ setUp: '`MCPServerStreamableHttp` with `auth`', drive: driveOpenaiAgents },
  },
  {
    ...of('LangChain', 'langchain-mcp-adapters==0.3.2'),
    ...{ setUp: '`MultiServerMCPClient` with `auth`', drive: driveLangchain },
  },
  {
    // Installs only the client of FastMCP, without its server.
    ...of('FastMCP', 'fastmcp-slim[client]==4.1.6', 'http://localhost/callback'),
    ...{ setUp: '`OAuth(client_id=…)`', drive: driveFastMcp },
  },
  {
    ...of('Pydantic AI', 'pydantic-ai-slim[mcp]==2.68.0'),
    ...{ setUp: '`MCPToolset` with `auth`', drive: drivePydanticAi },
  },
  {
    ...of('LlamaIndex', 'llama-index-tools-mcp==0.6.0'),
    ...{ setUp: '`BasicMCPClient` with `auth`', drive: driveLlamaIndex },
  },
  {
    ...built('Go SDK', 'go', 'github.com/modelcontextprotocol/go-sdk@1.8.0', 'go/official'),
    ...{ setUp: '`OAuthHandler` of the transport', drive: driveProgram },
  },
  {
    ...built('mcp-go', 'go', 'github.com/mark3labs/mcp-go@1.2.1', 'go/mark3labs'),
    ...{ setUp: '`OAuthConfig` with the scopes', drive: driveProgram },
  },
  {
    ...built('Rust SDK', 'crates', 'rmcp@3.11.0', 'rust'),
    ...{ setUp: '`OAuthState`, then `AuthClient`', drive: driveProgram },
  },
  {
    ...built('Java SDK', 'maven', 'io.modelcontextprotocol.sdk:mcp@2.1.0', 'java'),
    setUp: '`httpRequestCustomizer` with a token that your application requests',
    drive: driveJava,
  },
  {
    ...of('LangChain.js', '@langchain/mcp-adapters@1.1.4', undefined, ['@langchain/core@1.4.0']),
    ...{ setUp: '`authProvider` of the server', drive: driveLangchainJs },
  },
  {
    ...of('OpenAI Agents SDK for JavaScript', '@openai/agents@0.20.0'),
    ...{ setUp: '`authProvider` of the server', drive: driveOpenaiAgentsJs },
  },
  {
    ...of('AI SDK', '@ai-sdk/mcp@2.0.99'),
    ...{ setUp: '`authProvider` of the transport', drive: driveAiSdk },
  },
  {
    ...of('Mastra', '@mastra/mcp@2.0.0', undefined, ['@mastra/core@1.71.0']),
    ...{ setUp: '`authProvider` of the server', drive: driveMastra },
  },
  {
    ...of('use-mcp', 'use-mcp@0.0.21', undefined, [
      ...['@modelcontextprotocol/sdk@1.32.2', 'react@18.3.1', 'react-dom@18.3.1', 'esbuild@0.28.2'],
    ]),
    setUp: '`useMcp`; `saveClientInformation` of its `BrowserOAuthClientProvider` for a client_id',
    drive: driveUseMcp,
  },
]
