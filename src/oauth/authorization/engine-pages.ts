import type { Context } from 'koa'
import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider'

import { trusted } from '../../../views/html.ts'
import { signedOutPage, signOutPage } from '../../../views/sign-out.ts'
import { faultBody, sendErrorPage } from '../../platform/http/error-handler.ts'
import { isRefusal } from '../../platform/http/errors.ts'
import { sendPublicPage } from '../../platform/http/page.ts'
import { pages } from '../../platform/http/paths.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { isLoopbackClientId } from '../clients/loopback-clients.ts'
import { shownUri } from '../clients/redirect-difference.ts'

/** Routes that browsers visit; on all others an error is JSON, whatever the Accept header. */
const pageRoutes: ReadonlySet<string> = new Set([
  'authorization',
  'resume',
  'end_session',
  'end_session_confirm',
  'end_session_success',
])

/**
 * Renders the engine's errors. The engine itself would send HTML from the token endpoint to a client that
 * accepts text/html; an OAuth endpoint answers with JSON (RFC 6749 §5.2).
 */
export function engineErrorRenderer(admitsAddress: AdmitsAddress) {
  return (ctx: KoaContextWithOIDC, out: ErrorOut, error: Error): void => {
    const body = isRefusal(error) ? out : faultBody(ctx)
    if (!pageRoutes.has(ctx.oidc.route)) {
      ctx.body = body
      return
    }
    const clientId = out.error === 'invalid_client' && ctx.oidc.params?.['client_id']
    const why = whyUnknownClient(clientId, admitsAddress)
    const { redirect_uri: address } = ctx.oidc.params ?? ctx.query
    // Shown as text: the page must not link to an unregistered address.
    const isShown = out.error === 'invalid_redirect_uri' && typeof address === 'string'
    const sent = isShown ? shownUri(address) : undefined
    sendErrorPage(ctx, why === undefined ? body : { ...body, error_description: why }, sent)
  }
}

/** Whether the configuration admits documents of this address. */
type AdmitsAddress = (clientId: string) => boolean

/** Explains `invalid_client`, which the engine sends for every unknown client. */
function whyUnknownClient(clientId: unknown, admitsAddress: AdmitsAddress): string | undefined {
  if (typeof clientId !== 'string') return undefined
  if (isLoopbackClientId(clientId)) {
    return 'This service does not know the program any more: what nobody uses for a long time is forgotten.'
  }
  if (!clientId.startsWith('https://')) return 'This service does not know the application.'
  return admitsAddress(clientId)
    ? 'What the application says of itself at its own address could not be read, or cannot be used here.'
    : 'Applications that describe themselves at this address are not admitted here.'
}

/** Renders the page that confirms a sign-out requested by a client (RP-Initiated Logout §3). */
export function renderSignOut(ctx: KoaContextWithOIDC, form: string): void {
  const client = namedClient(ctx)
  // The engine drops an address without a client (RP-Initiated Logout §2).
  const addressIgnored = !client && ctx.query['post_logout_redirect_uri'] !== undefined
  if (addressIgnored) {
    const fields = logFields(ctx as unknown as Context)
    fields.detail = 'post_logout_redirect_uri was ignored without id_token_hint or client_id'
  }
  sendPublicPage(ctx, signOutPage({ form: trusted(form), client, addressIgnored }))
}

export function renderSignedOut(ctx: KoaContextWithOIDC): void {
  sendPublicPage(ctx, signedOutPage({ client: namedClient(ctx), homeHref: pages.welcome }))
}

function namedClient({ oidc: { client } }: KoaContextWithOIDC) {
  return client && { name: client.clientName ?? client.clientId }
}
