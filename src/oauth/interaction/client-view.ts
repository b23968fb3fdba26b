import { type ClientView, kindOfOrigin } from '../../../views/client-view.ts'
import type { HtmlValue } from '../../../views/html.ts'
import { text } from '../../../views/text.ts'
import { findSiteNames } from '../../directory/sites/site-choice.ts'
import { interactionGone } from '../../platform/http/errors.ts'
import { isLoopbackHost } from '../../platform/http/loopback.ts'
import type { Database } from '../../platform/store/database.ts'
import type { PendingInteraction } from '../authorization/engine-interactions.ts'

/** Returns the application's details for the pages of an interaction. */
export function clientView({ client, redirectUri }: PendingInteraction): ClientView {
  return {
    name: client.name,
    kind: kindOfClient(client, redirectUri),
    host: describeTarget(redirectUri),
    siteName: client.siteName,
    describedAt: client.describedAt,
  }
}

function kindOfClient(
  { origin, reviewed, byPattern }: PendingInteraction['client'],
  redirectUri: string,
): ClientView['kind'] {
  if (reviewed === true) return 'reviewed'
  if (origin !== 'integration') return kindOfOrigin.get(origin) ?? 'self-declared'
  if (!redirectUri.startsWith('https:')) return 'vendor-on-device'
  return byPattern ? 'vendor-connection' : 'vendor'
}

/** Describes where a redirect URI leads: to a host, to this computer, or to an app on this device. */
function describeTarget(redirectUri: string): HtmlValue {
  const url = new URL(redirectUri)
  if (isLoopbackHost(url.hostname)) return text('client.thisComputer', { host: url.hostname })
  return /^https?:$/.test(url.protocol)
    ? url.host
    : text('client.thisDevice', { scheme: url.protocol.slice(0, -1) })
}

/** Returns the person and the sites of the interaction, with the names of the sites in the reader's language. */
export async function namedSites({ person, sites }: PendingInteraction, database: Database) {
  if (!person) throw interactionGone()
  const nameOf = await findSiteNames(database, person.id)
  return { person, sites: sites.map((site) => ({ ...site, name: nameOf(site) })) }
}
