import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'

export interface ErrorPage {
  /** The OAuth error code, for the developer of the application. */
  readonly code: string
  readonly description: string
  /** The id of the request in the log. */
  readonly errorId?: string | undefined
  readonly title?: string | undefined
  /** The page that explains how to connect an assistant. */
  readonly connectHref?: string | undefined
  /** The unregistered redirect URI that the application sent. Shown as text, never as a link. */
  readonly sentAddress?: string | undefined
  /** Whether the page that failed belongs to this service, so no application is involved. */
  readonly isOwn?: boolean | undefined
  /** The page where the person can sign in after a sign-in page has expired. */
  readonly accountHref?: string | undefined
  /** The page that signs the person out without returning to the application. */
  readonly signOutHref?: string | undefined
}

const again = 'If it happens again, send the lines below to the people who make the application.'
const wait = `Wait a minute, then go back to the application and start again. ${again}`
const repair =
  'Only the people who make the application can repair this. Send them the lines below.'
const repairAddress =
  `${repair} The address has to be one of those that are registered, letter by letter; which part ` +
  'differs is told to the operators of the site, under Refusals of the application.'

/** Advice for each error code, if it differs from the usual advice. */
const adviceByCode: ReadonlyMap<string, string> = new Map([
  ['access_denied', 'Nothing was shared. You can close this page or go back to the application.'],
  ['forbidden', 'Sign out and sign in with another account, or go back.'],
  ['not_found', 'Check the address, or go back to the page that you came from.'],
  [
    'invalid_client',
    'Remove this service from the application, add it again, and start again from there.',
  ],
  ['invalid_redirect_uri', repairAddress],
  ['page_expired', 'If you came from an application, start again from there.'],
  ['too_many_requests', 'Wait as long as it says above, then load this page again.'],
  ['server_error', wait],
  ['temporarily_unavailable', wait],
])
const tellOperator =
  'If it happens again, send the lines below to the people who operate this service.'
/** Advice for errors of this service's own pages. */
const ownAdvice: ReadonlyMap<string, string> = new Map([
  ['server_error', `Wait a minute, then load this page again. ${tellOperator}`],
  ['temporarily_unavailable', `Wait a minute, then load this page again. ${tellOperator}`],
  ['invalid_request', `Go back, load that page again, and try again. ${tellOperator}`],
])
const usualAdvice = `Go back to the application and start again from there. ${again}`

/** Errors whose cause is often an assistant that no operator has added to the site. */
const codesOfConnecting: ReadonlySet<string> = new Set([
  'invalid_client',
  'invalid_redirect_uri',
  'invalid_scope',
  'unauthorized_client',
])

function connecting(code: string, connectHref: string | undefined): Html | undefined {
  if (connectHref === undefined || !codesOfConnecting.has(code)) return undefined
  return html`<p>Do you connect an assistant to a site? <a href="${connectHref}">How to connect it</a>
says each step, and whom to ask for a <code>client_id</code>.</p>\n`
}

/** Shows an error, and what the person can do about it. */
export function errorPage(page: ErrorPage): Page {
  const { code, description, errorId, title, connectHref, sentAddress, signOutHref } = page
  const advice = (page.isOwn && ownAdvice.get(code)) || adviceByCode.get(code) || usualAdvice
  const heading = title ?? (code === 'too_many_requests' ? 'Please wait' : 'Something went wrong')
  return {
    title: heading,
    id: 'error-page',
    body: html`<h1>${heading}</h1>
<p id="error-description">${description}</p>
<h2>What you can do</h2>
${signOutHref !== undefined && html`<p>You are still signed in. <a id="sign-out-here" href="${signOutHref}">Sign out without going back to the application</a></p>\n`}<p>${sentAddress === undefined ? advice : repairAddress}</p>
${code === 'page_expired' && page.accountHref !== undefined && html`<p><a id="account" href="${page.accountHref}">Sign in to your account</a></p>\n`}${connecting(code, connectHref)}<dl class="facts">
<div><dt>Error code</dt><dd><code id="error-code">${code}</code></dd></div>
${sentAddress !== undefined && html`<div><dt>Address that the application sent</dt><dd><code id="sent-address">${sentAddress}</code></dd></div>`}
${errorId !== undefined && html`<div><dt>Error number</dt><dd><code id="error-id">${errorId}</code></dd></div>`}
</dl>`,
  }
}
