import { areaConfirmPage, type Confirmation } from './area.ts'
import { html } from './html.ts'
import type { Page } from './layout.ts'

/** Asks for confirmation before all sessions of the person are ended. */
export function signOutEverywherePage(page: Confirmation): Page {
  return areaConfirmPage({
    ...page,
    title: 'Sign out everywhere?',
    id: 'sign-out-everywhere-page',
    consequences: html`<p>You will be signed out in every browser, in this one too, and will need your
password to sign in again. Applications that you connected keep their access until you remove them
under <strong>Connected apps</strong>.</p>`,
    confirm: 'Sign out everywhere',
  })
}

/** Confirms that all sessions have been ended. */
export function signedOutEverywherePage({ againHref }: { readonly againHref: string }): Page {
  return {
    title: 'Signed out everywhere',
    id: 'signed-out-everywhere-page',
    body: html`<h1>You are signed out everywhere</h1>
<p>If another person may know your password, sign in and change it under <strong>Password</strong>.</p>
<p><a href="${againHref}">Sign in again</a></p>`,
  }
}

/** The page shown after a person has cancelled the sign-in. */
export function signInCancelledPage({ againHref }: { readonly againHref: string }): Page {
  return {
    title: 'Not signed in',
    id: 'not-signed-in-page',
    body: html`<h1>You are not signed in</h1>
<p>The page that you wanted to open is for signed-in people only.</p>
<p><a href="${againHref}">Sign in</a></p>`,
  }
}

/** The page shown after a sign-in with one factor if two are required. */
export function twoFactorsNeededPage(hrefs: {
  readonly againHref: string
  readonly factorHref: string
}): Page {
  return {
    title: 'Two factors needed',
    id: 'two-factors-needed-page',
    body: html`<h1>This page needs two factors</h1>
<p>Sign in with a passkey, or with your password and a second factor. If you have none yet,
<a id="add-factor" href="${hrefs.factorHref}">add one</a>, then <a id="again" href="${hrefs.againHref}">open the page again</a>.</p>`,
  }
}

/** The page shown to people who are signed in for one site only and open a page outside that site. */
export function otherWayPage({ againHref }: { readonly againHref: string }): Page {
  return {
    title: 'Sign in another way',
    id: 'other-way-page',
    body: html`<h1>Sign in another way</h1>
<p>You signed in with the identity provider of a site, which counts only at that site. This page is for your whole account.</p>
<p><a id="again" href="${againHref}">Sign in another way</a></p>`,
  }
}
