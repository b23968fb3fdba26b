import { areaConfirmPage, type Confirmation } from './area.ts'
import { html } from './html.ts'
import type { Page } from './layout.ts'
import { text } from './text.ts'

/** Asks for confirmation before all sessions of the person are ended. */
export function signOutEverywherePage(page: Confirmation): Page {
  return areaConfirmPage({
    ...page,
    title: text('everywhere.title'),
    id: 'sign-out-everywhere-page',
    consequences: html`<p>${text('everywhere.text')}</p>`,
    confirm: text('everywhere.confirm'),
  })
}

/** Confirms that all sessions have been ended. */
export function signedOutEverywherePage({ againHref }: { readonly againHref: string }): Page {
  return {
    title: text('everywhere.doneTitle'),
    id: 'signed-out-everywhere-page',
    body: html`<h1>${text('everywhere.done')}</h1>
<p>${text('everywhere.then')}</p>
<p><a href="${againHref}">${text('everywhere.again')}</a></p>`,
  }
}

/** The page shown after a person has cancelled the sign-in. */
export function signInCancelledPage({ againHref }: { readonly againHref: string }): Page {
  return {
    title: text('notSignedIn.title'),
    id: 'not-signed-in-page',
    body: html`<h1>${text('notSignedIn.heading')}</h1>
<p>${text('notSignedIn.text')}</p>
<p><a href="${againHref}">${text('word.signIn')}</a></p>`,
  }
}

/** The page shown after a sign-in with one factor if two are required. */
export function twoFactorsNeededPage(hrefs: {
  readonly againHref: string
  readonly factorHref: string
}): Page {
  return {
    title: text('twoFactors.title'),
    id: 'two-factors-needed-page',
    body: html`<h1>${text('twoFactors.heading')}</h1>
<p>${text('twoFactors.text', { add: (add) => html`<a id="add-factor" href="${hrefs.factorHref}">${add}</a>`, again: (again) => html`<a id="again" href="${hrefs.againHref}">${again}</a>` })}</p>`,
  }
}

/** The page shown to people who are signed in for one site only and open a page outside that site. */
export function otherWayPage({ againHref }: { readonly againHref: string }): Page {
  return {
    title: text('otherWay.title'),
    id: 'other-way-page',
    body: html`<h1>${text('otherWay.title')}</h1>
<p>${text('otherWay.text')}</p>
<p><a id="again" href="${againHref}">${text('otherWay.title')}</a></p>`,
  }
}
