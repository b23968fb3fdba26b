import type { Package } from '../support/install.ts'
import { driveCodex } from './drivers/codex.ts'
import { driveGeminiCli, driveGeminiCliAsAdded } from './drivers/gemini-cli.ts'
import { driveInspector } from './drivers/inspector.ts'
import { driveMcpRemote, driveMcpRemoteWithScopes } from './drivers/mcp-remote.ts'
import { driveMcporter } from './drivers/mcporter.ts'
import { driveOpencode } from './drivers/opencode.ts'
import { driveFastMcp, drivePythonMcp1, drivePythonMcp2 } from './drivers/python.ts'
import { driveSdk1, driveSdk2 } from './drivers/typescript-sdk.ts'
import type { Drive } from './driving.ts'
import type { WayName } from './ways.ts'

/** Why a client does not reach a tool, although nothing is broken. */
export interface Known {
  readonly reason: string
  /** What its user reads; the run looks for it. */
  readonly sentence: string
}

/** A client that people use with tools of the Model Context Protocol, in one manner of setting it up. */
export interface Agent {
  readonly name: string
  readonly package: Package
  /** How it is set up, in words of its own documentation. */
  readonly setUp: string
  /** The redirect address that an operator enters for it; a loopback one has any port (RFC 8252 §7.3). */
  readonly callback: string
  readonly drive: Drive
  readonly known?: Readonly<Partial<Record<WayName, Known>>>
}

const gemini = {
  name: 'Gemini CLI',
  package: { registry: 'npm', name: '@google/gemini-cli', version: '0.61.0' },
  callback: 'http://localhost/oauth/callback',
} as const

const geminiAsksForAll: Known = {
  reason:
    'without `oauth.scopes` it asks for every scope of the authorization server, which no client may have',
  sentence: 'OAuth callback received error: invalid_scope',
}

const mcpRemoteBefore = {
  name: 'mcp-remote',
  package: { registry: 'npm', name: 'mcp-remote', version: '0.1.18' },
  callback: 'http://localhost/oauth/callback',
} as const

const mcpRemoteAsksForNothing: Known = {
  reason: 'asks for no scope, and a request without one is refused',
  sentence: 'Error: No authorization code received',
}

/** The clients that `npm run test:agents` drives, each at one version. */
export const agents: readonly Agent[] = [
  {
    name: 'TypeScript SDK 1',
    package: { registry: 'npm', name: '@modelcontextprotocol/sdk', version: '1.32.2' },
    setUp: '`authProvider` of the transport',
    callback: 'http://127.0.0.1/callback',
    drive: driveSdk1,
  },
  {
    name: 'TypeScript SDK 2',
    package: { registry: 'npm', name: '@modelcontextprotocol/client', version: '2.4.0' },
    setUp: '`authProvider` of the transport',
    callback: 'http://127.0.0.1/callback',
    drive: driveSdk2,
  },
  {
    name: 'mcp-remote',
    package: { registry: 'npm', name: 'mcp-remote', version: '0.1.37' },
    setUp: 'address, and `--static-oauth-client-info` for a client_id',
    callback: 'http://localhost/oauth/callback',
    drive: driveMcpRemote,
  },
  {
    name: 'mcp-remote',
    package: { registry: 'npm', name: 'mcp-remote', version: '0.15.1' },
    setUp: 'address, and `--static-oauth-client-info` for a client_id',
    callback: 'http://localhost/oauth/callback',
    drive: driveMcpRemote,
  },
  {
    ...mcpRemoteBefore,
    setUp: '`--static-oauth-client-metadata` with the scopes',
    drive: driveMcpRemoteWithScopes,
  },
  {
    ...mcpRemoteBefore,
    setUp: 'address alone',
    drive: driveMcpRemote,
    known: { member: mcpRemoteAsksForNothing, operator: mcpRemoteAsksForNothing },
  },
  {
    name: 'MCP Inspector, command line',
    package: { registry: 'npm', name: '@modelcontextprotocol/inspector', version: '2.12.0' },
    setUp: '`--cli` with the address and `--client-id`',
    callback: 'http://127.0.0.1/oauth/callback',
    drive: driveInspector,
  },
  {
    name: 'mcporter',
    package: { registry: 'npm', name: 'mcporter', version: '0.12.3' },
    setUp: '`auth: oauth` and `oauthClientId`, then `mcporter auth`',
    callback: 'http://127.0.0.1/callback',
    drive: driveMcporter,
  },
  {
    name: 'opencode',
    package: { registry: 'npm', name: 'opencode-ai', version: '1.18.33' },
    setUp: '`mcp` with `oauth.clientId`, then `opencode mcp auth`',
    callback: 'http://127.0.0.1/mcp/oauth/callback',
    drive: driveOpencode,
  },
  {
    name: 'Codex',
    package: { registry: 'npm', name: '@openai/codex', version: '0.169.0' },
    setUp: '`codex mcp add --url` with `--oauth-client-id`',
    callback: 'http://127.0.0.1/callback',
    drive: driveCodex,
  },
  {
    ...gemini,
    setUp: '`oauth.scopes` in its settings, no `oauth.enabled`, then `/mcp auth`',
    drive: driveGeminiCli,
  },
  {
    ...gemini,
    setUp: '`gemini mcp add --transport http`, then `/mcp auth`',
    drive: driveGeminiCliAsAdded,
    known: { member: geminiAsksForAll, operator: geminiAsksForAll },
  },
  {
    name: 'Python `mcp` 1',
    package: { registry: 'pypi', name: 'mcp', version: '1.30.0' },
    setUp: '`OAuthClientProvider`',
    callback: 'http://127.0.0.1/callback',
    drive: drivePythonMcp1,
  },
  {
    name: 'Python `mcp` 2',
    package: { registry: 'pypi', name: 'mcp', version: '2.3.0' },
    setUp: '`OAuthClientProvider`',
    callback: 'http://127.0.0.1/callback',
    drive: drivePythonMcp2,
  },
  {
    name: 'FastMCP',
    // Its client without its server.
    package: { registry: 'pypi', name: 'fastmcp-slim[client]', version: '4.1.6' },
    setUp: '`OAuth(client_id=…)`',
    callback: 'http://localhost/callback',
    drive: driveFastMcp,
  },
]
