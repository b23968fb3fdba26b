import type { Server } from '@modelcontextprotocol/server'

import { type Exchange, orFail } from './exchange.ts'
import type { ToolParts } from './tool.ts'

/** As many values as an answer may have (MCP, completion). */
const VALUES_MAX = 100

const SLUG_START = /^[a-z0-9-]{0,80}$/

/**
 * Answers completion/complete: the slug of a site, wherever an argument is one. It is public, as the list
 * of sites is; nothing else is completed.
 */
export function offerCompletions(server: Server, exchange: Exchange, parts: ToolParts): void {
  server.setRequestHandler('completion/complete', async ({ params: { argument } }) => {
    const { name, value } = argument
    if (name !== 'site' || !SLUG_START.test(value)) return { completion: { values: [] } }
    const found = parts.publicSites.slugsLike(value, VALUES_MAX + 1)
    const slugs = await orFail(exchange, found)
    const values = slugs.slice(0, VALUES_MAX)
    return { completion: { values, hasMore: slugs.length > VALUES_MAX } }
  })
}
