import { type ClientView, foreignName, kindSentence } from './client-view.ts'
import { postForm, refusalForm } from './forms.ts'
import { fill, type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { type PersonView, rolesPhrase } from './person-view.ts'
import { type SiteWords, siteWords } from './site-look.ts'
import { consentTexts as texts } from './texts/sign-in.ts'

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
  /** The endings that extend an earlier consent; undefined if the client has no access yet. */
  readonly added?: ReadonlySet<string> | undefined
  /** The link for signing in as another person. */
  readonly signOutHref?: string | undefined
  /** The text that the site adds to this page. */
  readonly words?: SiteWords | undefined
}

/** The maximum number of lines shown without a click. */
const LINES_MAX = 5

/** Asks the person to allow or refuse the requested access. */
export function consentPage(page: ConsentPage): Page {
  const { canSee, canChange, client, added } = page
  const answers = html`<p>${fill(texts.leadsTo, { host: foreignName(client.host) })}</p>
<div class="actions">
<button id="consent-approve" type="submit">${texts.allow}</button>
<button id="consent-deny" type="submit" form="refusal" class="second">${texts.deny}</button>
</div>`
  const changes = Math.min(canChange.length, Math.max(2, LINES_MAX - canSee.length))
  return {
    title: texts.title,
    id: 'consent-page',
    body: html`<h1>${fill(texts.heading, { app: html`<bdi>${client.name}</bdi>` })}</h1>
${warning(client)}
${added && html`<p class="notice" id="asks-more">${fill(texts.asksMore, { app: foreignName(client.name) })}</p>`}
${siteWords(page.words)}
${allowed('see', canSee, LINES_MAX - changes, added)}
${allowed('change', canChange, changes, added)}
${facts(page)}
${postForm(page, answers)}
${refusalForm(page)}
<p class="small">${texts.removable}</p>`,
  }
}

/** Returns the warning about a client that this service could not fully verify; undefined for other clients. */
function warning({ kind, name, host, describedAt }: ClientView): Html | undefined {
  const [title, text] = texts.warnings[kind] ?? []
  if (title === undefined || text === undefined) return undefined
  const values = {
    app: foreignName(name),
    host: foreignName(host),
    from: foreignName(describedAt ?? host),
  }
  return html`<div class="notice warning" role="note"><p><strong>${title}</strong> ${fill(text, values)}</p></div>`
}

function facts({ client, person, site, signOutHref }: ConsentPage): Html {
  return html`<dl class="facts">
<div><dt>${texts.app}</dt>
<dd>${foreignName(client.name)}<br><span class="muted">${kindSentence(client)}</span></dd></div>
${
  site &&
  html`<div><dt>${texts.site}</dt>
<dd><strong><bdi>${site.name}</bdi></strong><br><span class="muted">${rolesPhrase(site.roles)}</span></dd></div>`
}
<div><dt>${texts.account}</dt>
<dd><strong><bdi>${person.name}</bdi></strong><br>
<span class="muted"><bdi>${person.email}</bdi></span>${
    signOutHref !== undefined && html`<br><a href="${signOutHref}">${texts.otherAccount}</a>`
  }</dd></div>
</dl>`
}

/** Lists what the client can do, new items first. Collapses all but the first lines. */
function allowed(
  verb: 'see' | 'change',
  ends: readonly string[],
  shown: number,
  added: ReadonlySet<string> = new Set(),
): Html | undefined {
  if (ends.length === 0) return undefined
  const isOld = (end: string) => Number(!added.has(end))
  const lines = ends
    .toSorted((one, other) => isOld(one) - isOld(other))
    .map(
      (end) =>
        html`<li>${end}${added.has(end) && html` <strong class="tag good">${texts.added}</strong>`}</li>\n`,
    )
  const folded = lines.slice(shown)
  return html`<section class="allowed" aria-labelledby="can-${verb}">
<h2 id="can-${verb}">${texts.can[verb]}</h2>
<ul>
${lines.slice(0, shown)}</ul>
${folded.length > 0 && html`<details><summary>${fill(texts.more, { count: folded.length })}</summary><ul>\n${folded}</ul></details>`}
</section>`
}
