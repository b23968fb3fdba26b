import { type ClientView, foreignName, kindSentence, type PromptView } from './client-view.ts'
import { postForm, refusalForm } from './forms.ts'
import type { ScopeText } from './grant-view.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { type PersonView, rolesPhrase } from './person-view.ts'
import { type SiteWords, siteWords } from './site-look.ts'
import { text, textIfAny } from './text.ts'

export interface ConsentPage extends PromptView {
  readonly person: PersonView
  /** The site to which the access is limited. */
  readonly site?: { readonly name: HtmlValue; readonly roles: readonly string[] } | undefined
  readonly canSee: readonly ScopeText[]
  readonly canChange: readonly ScopeText[]
  /** The scopes that extend an earlier consent; undefined if the client has no access yet. */
  readonly added?: ReadonlySet<string> | undefined
  /** The link for signing in as another person. */
  readonly signOutHref?: string | undefined
  readonly words?: SiteWords | undefined
}

/** The maximum number of scopes shown before the person expands a list. */
const LINES_MAX = 5

/** Asks the person to allow or refuse the requested access. */
export function consentPage(page: ConsentPage): Page {
  const { canSee, canChange, client, added } = page
  const answers = html`<p>${text('consent.leadsTo', { host: foreignName(client.host) })}</p>
<div class="actions">
<button id="consent-approve" type="submit">${text('consent.allow')}</button>
<button id="consent-deny" type="submit" form="refusal" class="second">${text('consent.deny')}</button>
</div>`
  const changes = Math.min(canChange.length, Math.max(2, LINES_MAX - canSee.length))
  return {
    title: text('consent.title'),
    heading: text('consent.heading', { app: html`<bdi>${client.name}</bdi>` }),
    id: 'consent-page',
    body: html`<p class="muted">${kindSentence(client)}</p>
${warning(client)}
${added && html`<p class="notice" id="asks-more">${text('consent.asksMore', { app: foreignName(client.name) })}</p>`}
${siteWords(page.words)}
${allowed('see', canSee, LINES_MAX - changes, added)}
${allowed('change', canChange, changes, added)}
${consentFacts(page)}
${postForm(page, answers)}
${refusalForm(page)}
<p class="small">${text('consent.removable')}</p>`,
  }
}

/** Returns the warning about a client that is not fully verified or acts for an owner; undefined for other clients. */
function warning({ kind, name, host, describedAt }: ClientView): Html | undefined {
  const values = {
    app: foreignName(name),
    host: foreignName(host),
    from: foreignName(describedAt ?? host),
  }
  const id = `consent.warnings.${kind === 'vendor-on-device' ? 'loopback' : kind}`
  const warned = textIfAny(id, values)
  return (
    warned &&
    html`<div class="notice warning" role="note"><p><strong>${textIfAny(`${id}.title`)}</strong> ${warned}</p></div>`
  )
}

function consentFacts({ person, site, signOutHref }: ConsentPage): Html {
  return html`<dl class="facts">
${
  site &&
  html`<div><dt>${text('word.site')}</dt>
<dd><strong><bdi>${site.name}</bdi></strong> <span class="muted">${rolesPhrase(site.roles)}</span></dd></div>`
}
<div><dt>${text('word.account')}</dt>
<dd><strong><bdi>${person.name}</bdi></strong>
<span class="muted"><bdi>${person.email}</bdi></span>${
    signOutHref !== undefined &&
    html`<br><a href="${signOutHref}">${text('consent.otherAccount')}</a>`
  }</dd></div>
</dl>`
}

/** Lists what the client can do, new items first. Collapses all but the first `shown` items. */
function allowed(
  verb: 'see' | 'change',
  ends: readonly ScopeText[],
  shown: number,
  added: ReadonlySet<string> = new Set(),
): Html | undefined {
  if (ends.length === 0) return undefined
  const isOld = ({ name }: ScopeText) => Number(!added.has(name))
  const lines = ends
    .toSorted((one, other) => isOld(one) - isOld(other))
    .map(
      (end) =>
        html`<li>${end.text}${added.has(end.name) && html` <strong class="tag good">${text('consent.added')}</strong>`}</li>\n`,
    )
  const folded = lines.slice(shown)
  return html`<section class="allowed" aria-labelledby="can-${verb}">
<h2 id="can-${verb}">${text(`consent.can.${verb}`)}</h2>
<ul>
${lines.slice(0, shown)}</ul>
${folded.length > 0 && html`<details><summary>${text('consent.more', { count: folded.length })}</summary><ul>\n${folded}</ul></details>`}
</section>`
}
