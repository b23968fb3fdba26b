import type { Context } from 'koa'
import { type ErrorOut, errors, type KoaContextWithOIDC } from 'oidc-provider'

import { trusted } from '../../../views/html.ts'
import { signedOutPage, signOutPage } from '../../../views/sign-out.ts'
import { faultBody, type RejectedUri, sendErrorPage } from '../../platform/http/error-handler.ts'
import { interactionGone, isRefusal } from '../../platform/http/errors.ts'
import { sendPublicPage } from '../../platform/http/page.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { isLoopbackClientId } from '../clients/loopback-clients.ts'
import { shownUri } from '../clients/redirect-difference.ts'
import { UNREGISTERED_AFTER_SIGN_OUT } from './engine-answers.ts'

/** Routes that browsers visit. Errors at all other routes are JSON, regardless of the Accept header. */
const pageRoutes: ReadonlySet<string> = new Set([
  'authorization',
  'resume',
  'end_session',
  'end_session_confirm',
  'end_session_success',
])

/**
 * Creates the function that renders the engine's errors: as a page for browsers, as JSON for programs (specification,
 * Errors 1). By default, the engine's token endpoint would send HTML to a client that accepts it.
 */
export function engineErrorRenderer(admitsAddress: AdmitsAddress) {
  return (ctx: KoaContextWithOIDC, out: ErrorOut, error: Error): void => {
    const said = error instanceof errors.SessionNotFound ? interactionGone() : out
    const body = isRefusal(error) ? said : faultBody(ctx)
    if (!pageRoutes.has(ctx.oidc.route)) {
      ctx.body = body
      return
    }
    const clientId = out.error === 'invalid_client' && ctx.oidc.params?.['client_id']
    const why = whyUnknownClient(clientId, admitsAddress)
    // Omit `state` and `iss`, which the engine adds for redirects.
    const explained = { error: body.error, error_description: why ?? body.error_description }
    const asJson = ctx.oidc.route === 'authorization' && ctx.accepts('json', 'html') !== 'html'
    if (asJson) ctx.body = explained
    else sendErrorPage(ctx, explained, rejectedUri(ctx, out))
  }
}

/** Returns the details for the error page: rejected redirect URI, application, and sign-out link. */
function rejectedUri(ctx: KoaContextWithOIDC, out: ErrorOut): RejectedUri {
  const params = ctx.oidc.params ?? ctx.query
  const isSignOut = ctx.oidc.route === 'end_session'
  const isRejected =
    out.error === 'invalid_redirect_uri' || out.error_description === UNREGISTERED_AFTER_SIGN_OUT
  const sent = params[isSignOut ? 'post_logout_redirect_uri' : 'redirect_uri']
  return {
    // The page shows the URI as text, because it must not link to an unregistered URI.
    ...(isRejected && typeof sent === 'string' && { sentAddress: shownUri(sent) }),
    ...(isSignOut && { signOutHref: paths.endSession }),
    app: appOf(ctx),
  }
}

/** Returns the client's name and, as its website, the origin of its first https redirect URI. Undefined without one. */
function appOf({ oidc: { client } }: KoaContextWithOIDC): RejectedUri['app'] {
  const website = client?.redirectUris?.find((uri) => uri.startsWith('https:'))
  if (!client || website === undefined) return undefined
  return { name: client.clientName ?? client.clientId, href: new URL('/', website).href }
}

type AdmitsAddress = (clientId: string) => boolean

/** Explains to people why a client is unknown. Returns undefined for other errors, where `clientId` is not a string. */
function whyUnknownClient(clientId: unknown, admitsAddress: AdmitsAddress): string | undefined {
  if (typeof clientId !== 'string') return undefined
  if (isLoopbackClientId(clientId)) {
    return 'This program is not registered, or its registration has expired because it was not used. Connect it again.'
  }
  if (!clientId.startsWith('https://'))
    return 'This application is not registered with this service. Check its client ID.'
  return admitsAddress(clientId)
    ? 'The metadata document of this app could not be read, or is invalid. Try again in a minute.'
    : `This service does not accept apps from ${shownUri(URL.parse(clientId)?.host ?? '')}. Ask the operator of this service to allow them.`
}

/** Renders the page that asks the person to confirm a sign-out (RP-Initiated Logout §2). */
export function renderSignOut(ctx: KoaContextWithOIDC, form: string): void {
  const client = namedClient(ctx)
  // If the request names no client, the engine ignores the post-logout redirect URI (RP-Initiated Logout §3).
  const addressIgnored = !client && ctx.query['post_logout_redirect_uri'] !== undefined
  if (addressIgnored) {
    const fields = logFields(ctx as unknown as Context)
    fields.detail = 'post_logout_redirect_uri was ignored: send it with id_token_hint or client_id'
  }
  sendPublicPage(ctx, signOutPage({ form: trusted(form), client, addressIgnored }))
}

export function renderSignedOut(ctx: KoaContextWithOIDC): void {
  sendPublicPage(ctx, signedOutPage({ client: namedClient(ctx), homeHref: pages.welcome }))
}

function namedClient({ oidc: { client } }: KoaContextWithOIDC) {
  return client && { name: client.clientName ?? client.clientId }
}
