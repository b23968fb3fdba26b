import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { text, textIfAny } from './text.ts'

export interface ErrorPage {
  /** The OAuth error code, for the developer of the application. */
  readonly code: string
  readonly description: string
  /** The id of the request in the log. */
  readonly errorId?: string | undefined
  readonly connectHref?: string | undefined
  /** The unregistered redirect URI that the application sent. Shown as text, never as a link. */
  readonly sentAddress?: string | undefined
  /** Whether the page that failed belongs to this service, so no application is involved. */
  readonly isOwn?: boolean | undefined
  readonly accountHref?: string | undefined
  /** The path of the administration, if the page that failed is below it. */
  readonly adminHref?: string | undefined
  /** The page where the person signs in with another account. */
  readonly switchHref?: string | undefined
  /** The page that failed, if loading it again can succeed. */
  readonly retryHref?: string | undefined
  /** The page that signs the person out without returning to the application. */
  readonly signOutHref?: string | undefined
  /** The application that sent the person here, and its registered website. */
  readonly app?: { readonly name: string; readonly href: string } | undefined
}

/** Temporary errors, after which a retry can succeed. */
const temporary: ReadonlySet<string> = new Set([
  'server_error',
  'temporarily_unavailable',
  'too_many_requests',
])
/** Errors that often occur because no operator has added the assistant to the site. */
const codesOfConnecting: ReadonlySet<string> = new Set([
  'invalid_client',
  'invalid_redirect_uri',
  'invalid_scope',
  'unauthorized_client',
])

/** Explains the error and what the person can do, with a button for the next step, if there is one. */
export function errorPage(page: ErrorPage): Page {
  const title = textIfAny(`error.title.${page.code}`) ?? text('error.title')
  return {
    title,
    id: 'error-page',
    body: html`<p id="error-message">${errorMessage(page)}</p>
<h2>${text('error.whatToDo')}</h2>
<p>${adviceOf(page)}</p>
${actionsOf(page)}
${details(page)}`,
  }
}

function errorMessage({ code, description, isOwn, sentAddress }: ErrorPage): HtmlValue {
  const known = textIfAny(
    `error.happened.${sentAddress === undefined ? code : 'invalid_redirect_uri'}`,
  )
  if (known) return known
  if (!isOwn && code === 'invalid_request') return text('error.appMistake')
  return `${description.slice(0, 1).toUpperCase()}${description.slice(1).replace(/[.]?$/, '.')}`
}

function adviceOf({ code, isOwn, sentAddress, signOutHref }: ErrorPage): HtmlValue {
  if (signOutHref !== undefined) return text('error.signOutAdvice')
  const cause = sentAddress === undefined ? code : 'invalid_redirect_uri'
  return textIfAny(`error.advice.${cause}`) ?? text(isOwn ? 'error.ownAdvice' : 'error.appAdvice')
}

/** Renders the button for the most likely next step, and less prominent buttons for other possible steps. */
function actionsOf(page: ErrorPage): Html {
  const { code, app, connectHref, adminHref } = page
  const { accountHref, retryHref, signOutHref, switchHref } = page
  const connects = codesOfConnecting.has(code) && connectHref !== undefined
  const ways: readonly (Html | false | undefined)[] = [
    link('sign-out-here', signOutHref, text('word.signOut')),
    code === 'forbidden' && link('switch-account', switchHref, text('error.button.switch')),
    temporary.has(code) && link('retry', retryHref, text('error.button.retry')),
    link(
      'back-to-app',
      app?.href,
      text('error.button.back', { app: html`<bdi>${app?.name}</bdi>` }),
    ),
    link('account', accountHref, text('error.button.account')),
  ]
  return html`<div class="actions">${ways.find(Boolean)}${link('admin', adminHref, text('adminNav.title'), ' second')}${connects && link('connect', connectHref, text('error.button.connect'), ' second')}</div>`
}

function link(
  id: string,
  href: string | undefined,
  label: HtmlValue,
  weight = '',
): Html | undefined {
  return href === undefined
    ? undefined
    : html`<a id="${id}" class="button${weight}" href="${href}"><span>${label}</span></a>\n`
}

function details({ code, description, errorId, sentAddress }: ErrorPage): Html {
  return html`<details><summary>${text('error.details')}</summary>
${sentAddress !== undefined && html`<p class="small">${text('error.addressAdvice')}</p>`}
<dl class="facts">
<div><dt>${text('error.code')}</dt><dd><code id="error-code">${code}</code></dd></div>
<div><dt>${text('error.description')}</dt><dd id="error-description">${description}</dd></div>
${sentAddress !== undefined && html`<div><dt>${text('error.sentAddress')}</dt><dd><code id="sent-address">${sentAddress}</code></dd></div>`}
${errorId !== undefined && html`<div><dt>${text('error.number')}</dt><dd><code id="error-id">${errorId}</code></dd></div>`}
</dl></details>`
}
