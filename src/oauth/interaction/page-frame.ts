import { createHmac } from 'node:crypto'

import type { Context } from 'koa'

import type { ClientView } from '../../../views/client-view.ts'
import type { Page } from '../../../views/layout.ts'
import { isLoopbackHost } from '../../platform/http/loopback.ts'
import { sendPage } from '../../platform/http/page.ts'
import { addressOf, pages } from '../../platform/http/paths.ts'
import { contentSecurityPolicy, formTarget } from '../../platform/http/security-headers.ts'
import type { PendingInteraction } from '../authorization/interactions.ts'

/** Where the form that refuses is sent, at each prompt. */
export const cancelAddresses = {
  login: pages.cancelLogin,
  select_account: pages.cancelSiteChoice,
  consent: pages.cancelConsent,
} as const

/**
 * The token that each form of an interaction carries (RFC 6749 §10.12). The interaction's cookie,
 * bound to the path of this one interaction and SameSite=Lax, already keeps foreign forms out; the
 * token holds where a browser does not know SameSite.
 */
export function formToken(uid: string, formKey: Buffer): string {
  return createHmac('sha256', formKey).update(`interaction ${uid}`).digest('base64url')
}

/** What every page of an interaction needs. */
export function frameOfPage(pending: PendingInteraction, formKey: Buffer) {
  const { uid, prompt } = pending
  return {
    action: addressOf(pages[prompt], { uid }),
    deny: addressOf(cancelAddresses[prompt], { uid }),
    csrf: formToken(uid, formKey),
    client: clientView(pending),
  }
}

/** The page's forms lead to the application in the end, which its policy has to allow. */
export function showPage(ctx: Context, { redirectUri }: PendingInteraction, page: Page): void {
  sendPage(ctx, page)
  ctx.set('Content-Security-Policy', contentSecurityPolicy([formTarget(redirectUri)]))
}

const kindOf = {
  integration: 'vendor',
  site: 'operator-created',
  document: 'self-declared',
  loopback: 'loopback',
  first_party: 'own',
} as const satisfies Record<PendingInteraction['client']['origin'], ClientView['kind']>

/** What the pages say about the application that asks. */
function clientView({ client, redirectUri }: PendingInteraction): ClientView {
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
  return byPattern ? 'vendor-connection' : 'vendor'
}

/** Where a redirect address leads, in words; an address on the person's own machine is said so. */
function hostOf(redirectUri: string): string {
  const url = new URL(redirectUri)
  if (isLoopbackHost(url.hostname)) return `this computer (${url.hostname})`
  return /^https?:$/.test(url.protocol)
    ? url.host
    : `an app on this device (${url.protocol.slice(0, -1)})`
}
