import { type ClientView, foreignName, kindSentence } from './client-view.ts'
import { postForm, refusalForm } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { type PersonView, rolesPhrase } from './person-view.ts'
import { type SiteWords, siteWords } from './site-look.ts'

export interface ConsentPage {
  /** The URL to which the approval is submitted. */
  readonly action: string
  /** The URL to which the refusal is submitted. */
  readonly deny: string
  readonly csrf: string
  readonly client: ClientView
  readonly person: PersonView
  /** The site to which the access is limited. */
  readonly site?: { readonly name: string; readonly roles: readonly string[] } | undefined
  /** Endings of the sentence "It can see …". */
  readonly canSee: readonly string[]
  /** Endings of the sentence "It can change …". */
  readonly canChange: readonly string[]
  /** The link for signing in as another person. */
  readonly signOutHref?: string | undefined
  /** The text that the site adds to this page. */
  readonly words?: SiteWords | undefined
}

/** Asks the person to allow or refuse the requested access. */
export function consentPage(page: ConsentPage): Page {
  const answers = html`<p>You will go back to ${foreignName(page.client.host)}.</p>
<div class="actions">
<button id="consent-approve" type="submit">Allow</button>
<button id="consent-deny" type="submit" form="refusal" class="second">Don’t allow</button>
</div>`
  return {
    title: 'Allow access?',
    id: 'consent-page',
    body: html`<h1>Allow <bdi>${page.client.name}</bdi> to use your account?</h1>
${warning(page.client)}
${siteWords(page.words)}
${facts(page)}
${allowed('see', page.canSee)}
${allowed('change', page.canChange)}
${postForm(page, answers)}
${refusalForm(page)}
<p class="small">You can remove this access at any time: open <strong>Connected apps</strong> in your
account. It ends at once.</p>`,
  }
}

/** Returns the warning about a client that this service could not fully verify; undefined for other clients. */
function warning({ kind, name, host, describedAt }: ClientView): Html | undefined {
  if (kind === 'self-declared') {
    return warningNote(html`<strong>This application describes itself.</strong> Its name and details were not checked by us.
Make sure that you trust ${foreignName(describedAt ?? host)}.`)
  }
  if (kind === 'vendor-connection') {
    return warningNote(html`<strong>Is this your own connection?</strong> Everybody who uses ${foreignName(name)} can make one.
Only continue if you just made it yourself, at ${foreignName(host)}.`)
  }
  if (kind === 'loopback' || kind === 'vendor-on-device') {
    return warningNote(html`<strong>This is a program on your own computer.</strong> Its name was not checked by us, and any
program can use this name. Only continue if you just started it yourself.`)
  }
  return undefined
}

function warningNote(words: Html): Html {
  return html`<div class="notice warning" role="note"><p>${words}</p></div>`
}

function facts({ client, person, site, signOutHref }: ConsentPage): Html {
  return html`<dl class="facts">
<div><dt>Application</dt>
<dd>${foreignName(client.name)}<br><span class="muted">${kindSentence(client)}</span></dd></div>
${
  site &&
  html`<div><dt>Site</dt>
<dd><strong><bdi>${site.name}</bdi></strong><br><span class="muted">${rolesPhrase(site.roles)}</span></dd></div>`
}
<div><dt>Account</dt>
<dd>Signed in as <strong><bdi>${person.name}</bdi></strong><br>
<span class="muted"><bdi>${person.email}</bdi></span>${
    signOutHref !== undefined && html`<br><a href="${signOutHref}">Not you? Use another account</a>`
  }</dd></div>
</dl>`
}

function allowed(verb: 'see' | 'change', ends: readonly string[]): Html | undefined {
  if (ends.length === 0) return undefined
  return html`<section class="allowed" aria-labelledby="can-${verb}">
<h2 id="can-${verb}">It can ${verb}</h2>
<ul>
${ends.map((end) => html`<li>${end}</li>\n`)}</ul>
</section>`
}
