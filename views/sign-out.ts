import { foreignName } from './client-view.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'

export interface SignOutPage {
  /** The engine's form, `<form id="op.logoutForm" …>`. The buttons refer to it by its id. */
  readonly form: Html
  /** The client that requested the sign-out. */
  readonly client?: { readonly name: string } | undefined
  /** Whether the request has a post_logout_redirect_uri, but no known client. */
  readonly addressIgnored?: boolean
}

const ignored = html`<p id="address-ignored" class="small">The application that sent you did not say which one it is, so you
will not be led back to it. For its makers: send <code>client_id</code> or <code>id_token_hint</code> beside
<code>post_logout_redirect_uri</code>.</p>
`

/** Asks whether the person wants to sign out, because any website can link to this page. */
export function signOutPage({ form, client, addressIgnored }: SignOutPage): Page {
  return {
    title: 'Sign out?',
    id: 'logout-page',
    body: html`<h1>Sign out?</h1>
${client && html`<p>${foreignName(client.name)} asks you to sign out.</p>`}
<p>You will be signed out here, in this browser. Applications that you connected keep their access
until you remove them under <strong>Connected apps</strong> in your account.</p>
${addressIgnored && ignored}${form}
<div class="actions">
<button id="logout-confirm" type="submit" form="op.logoutForm" name="logout" value="yes">Sign out</button>
<button id="logout-cancel" type="submit" form="op.logoutForm" class="second">Stay signed in</button>
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
    title: 'Signed out',
    id: 'logout-success',
    body: html`<h1>You are signed out</h1>
<p>You can close this page${client && html`, or go back to ${foreignName(client.name)}`}.</p>
<p class="small">Is this a computer that others use? Close the browser too.</p>
<p><a href="${homeHref}">Go to the start page</a></p>`,
  }
}
