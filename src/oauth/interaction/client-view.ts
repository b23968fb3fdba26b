import type { ClientView } from '../../../views/client-view.ts'
import type { ClientOrigin } from '../../directory/scopes/policy.ts'
import { isLoopbackHost } from '../../platform/http/loopback.ts'
import type { PendingInteraction } from './pending-interaction.ts'

const kindOf = {
  integration: 'vendor',
  site: 'operator-created',
  document: 'self-declared',
  loopback: 'loopback',
  first_party: 'own',
} as const satisfies Record<ClientOrigin | 'first_party', ClientView['kind']>

/** What the pages say about the application that asks. */
export function clientView({ client, redirectUri }: PendingInteraction): ClientView {
  return {
    name: client.name,
    kind: kindOfClient(client, redirectUri),
    host: hostOf(redirectUri),
    siteName: client.siteName,
    describedAt: client.describedAt,
  }
}

function kindOfClient(
  { origin, reviewed, byPattern }: PendingInteraction['client'],
  redirectUri: string,
): ClientView['kind'] {
  if (reviewed === true) return 'reviewed'
  if (origin !== 'integration') return kindOf[origin]
  if (!redirectUri.startsWith('https:')) return 'vendor-on-device'
  return byPattern === true ? 'vendor-connection' : 'vendor'
}

/** Where a redirect address leads, in words; an address on the person's own machine is said so. */
function hostOf(redirectUri: string): string {
  const url = new URL(redirectUri)
  if (isLoopbackHost(url.hostname)) return `this computer (${url.hostname})`
  return /^https?:$/.test(url.protocol)
    ? url.host
    : `an app on this device (${url.protocol.slice(0, -1)})`
}
