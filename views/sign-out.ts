import { foreignName } from './client-view.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { text } from './text.ts'

export interface SignOutPage {
  /** The engine's form, `<form id="op.logoutForm" …>`. The buttons refer to it by its id. */
  readonly form: Html
  /** The client that requested the sign-out. */
  readonly client?: { readonly name: string } | undefined
  /** Whether the request has a post_logout_redirect_uri, but no known client. */
  readonly addressIgnored?: boolean
}

const ignored = html`<p id="address-ignored" class="small">${text('signOut.ignored', { c: (name) => html`<code>${name}</code>` })}</p>
`

/** Asks whether the person wants to sign out, because any website can link to this page. */
export function signOutPage({ form, client, addressIgnored }: SignOutPage): Page {
  return {
    title: text('signOut.title'),
    id: 'logout-page',
    body: html`${client && html`<p>${text('signOut.asks', { app: foreignName(client.name) })}</p>`}
<p>${text('signOut.text')}</p>
${addressIgnored && ignored}${form}
<div class="actions">
<button id="logout-confirm" type="submit" form="op.logoutForm" name="logout" value="yes">${text('word.signOut')}</button>
<button id="logout-cancel" type="submit" form="op.logoutForm" class="second">${text('signOut.stay')}</button>
</div>`,
  }
}

export interface SignedOutPage {
  /** The client that requested the sign-out. */
  readonly client?: { readonly name: string } | undefined
  readonly homeHref: string
}

export function signedOutPage({ client, homeHref }: SignedOutPage): Page {
  return {
    title: text('signOut.done'),
    id: 'logout-success',
    body: html`<p>${client ? text('signOut.backTo', { app: foreignName(client.name) }) : text('signOut.close')}</p>
<p class="small">${text('signOut.shared')}</p>
<p><a href="${homeHref}">${text('signOut.home')}</a></p>`,
  }
}
