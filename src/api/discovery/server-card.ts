import packageJson from '../../../package.json' with { type: 'json' }
import { pages, paths } from '../../platform/http/paths.ts'
import type { ServiceFacts } from './protected-resource.ts'

/** The server of the public tools. Titles and descriptions have at most 100 characters (MCP SEP-2127). */
export const publicToolServer = {
  path: paths.mcp,
  card: paths.serverCard,
  name: 'campus',
  title: '',
  description: 'Public sites and courses, without a token; more tools after sign-in.',
}

export const toolServers = [
  publicToolServer,
  {
    path: paths.mcpMember,
    card: paths.serverCardMember,
    name: 'campus-member',
    title: ' for members',
    description: 'Courses, other purchases and notifications of the signed-in person.',
  },
  {
    path: paths.mcpAdmin,
    card: paths.serverCardAdmin,
    name: 'campus-admin',
    title: ' for operators',
    description: 'Courses, people, announcements and statistics of a site, for its operators.',
  },
]

export const serverCardType = 'application/mcp-server-card+json'
export const catalogType = 'application/ai-catalog+json'

/** Creates the card of a tool server (MCP SEP-2127). */
export function serverCard(
  { baseUrl, service, protocolVersions }: ServiceFacts,
  { path, name, title, description }: (typeof toolServers)[number],
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

/** Creates the catalogue of all server cards (AI Catalog 1.0). */
export function aiCatalog({ baseUrl }: Pick<ServiceFacts, 'baseUrl'>) {
  return {
    specVersion: '1.0',
    entries: toolServers.map(({ name, card }) => ({
      identifier: `urn:air:${cardHost(baseUrl)}:mcp:${name}`,
      type: serverCardType,
      url: baseUrl + card,
    })),
  }
}

/** Reverses the host name of a URL: `id.campus.example` becomes `example.campus.id`. Does not reverse IP addresses. */
function reversedHost(baseUrl: string): string {
  const host = cardHost(baseUrl)
  return /[a-z]/.test(host) ? host.split('.').reverse().join('.') : host
}

/** Replaces characters of the host name that cards and catalogues forbid. `[fd00::1]` becomes `fd00-1`. */
function cardHost(baseUrl: string): string {
  const { hostname } = new URL(baseUrl)
  return hostname.replace(/[^a-z0-9.-]+/g, '-').replace(/^-+|-+$/g, '')
}
