import packageJson from '../../../package.json' with { type: 'json' }
import { pages, paths } from '../../platform/http/paths.ts'
import type { ServiceFacts } from './facts.ts'

/**
 * Server cards and the catalogue of them, by which a client that knows only the origin finds the tools
 * (MCP, SEP-2127). A card says where to connect; what is offered there is listed after connecting.
 */
interface ToolServer {
  readonly path: string
  readonly card: string
  /** The last part of its name; the rest is the origin. */
  readonly name: string
  readonly title: string
  /** At most 100 characters. */
  readonly description: string
}

export const publicToolServer: ToolServer = {
  path: paths.mcp,
  card: paths.serverCard,
  name: 'campus',
  title: '',
  description: 'Sites and published courses, without a token; more after a sign-in.',
}

export const toolServers: readonly ToolServer[] = [
  publicToolServer,
  {
    path: paths.mcpMember,
    card: paths.serverCardMember,
    name: 'campus-member',
    title: ' for members',
    description: 'Courses, other purchases and notifications of the person who signs in.',
  },
  {
    path: paths.mcpAdmin,
    card: paths.serverCardAdmin,
    name: 'campus-admin',
    title: ' for operators',
    description: 'Courses, people, announcements and figures of the site that a person runs.',
  },
]

export const serverCardType = 'application/mcp-server-card+json'
export const catalogType = 'application/ai-catalog+json'

/** What a tool server says of itself before a client connects. */
export function serverCard(
  { baseUrl, service, protocolVersions }: ServiceFacts,
  { path, name, title, description }: ToolServer,
) {
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
    name: `${reversedHost(baseUrl)}/${name}`,
    version: packageJson.version,
    title: `${service.name}${title}`.slice(0, TITLE_LENGTH_MAX),
    description,
    websiteUrl: baseUrl,
    icons: [
      { src: baseUrl + pages.iconPng, mimeType: 'image/png', sizes: ['128x128'] },
      { src: baseUrl + pages.icon, mimeType: 'image/svg+xml', sizes: ['any'] },
    ],
    remotes: [
      {
        type: 'streamable-http',
        url: baseUrl + path,
        supportedProtocolVersions: [...protocolVersions],
      },
    ],
  }
}

const TITLE_LENGTH_MAX = 100

/** Where the cards are (AI Catalog 1.0). */
export function aiCatalog({ baseUrl }: Pick<ServiceFacts, 'baseUrl'>) {
  return {
    specVersion: '1.0',
    entries: toolServers.map(({ name, card }) => ({
      identifier: `urn:air:${hostOf(baseUrl)}:mcp:${name}`,
      type: serverCardType,
      url: baseUrl + card,
    })),
  }
}

/** `id.campus.example` is `example.campus.id`; an address of numbers stays as it is. */
function reversedHost(baseUrl: string): string {
  const host = hostOf(baseUrl)
  return /[a-z]/.test(host) ? host.split('.').reverse().join('.') : host
}

/** The name of the host in the letters that both documents admit: `[::1]` becomes `1`. */
function hostOf(baseUrl: string): string {
  const { hostname } = new URL(baseUrl)
  return hostname.replace(/[^a-z0-9.-]+/g, '-').replace(/^-+|-+$/g, '')
}
