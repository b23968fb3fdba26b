import { type AreaView, areaPage, cards } from './area.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { rolesPhrase } from './person-view.ts'

export interface AccountHomePage {
  readonly area: AreaView
  readonly person: { readonly name: string; readonly email: string }
  readonly sites: readonly AccountSite[]
  readonly appsHref: string
  /** The query page of the Member API; undefined if the person has no role at any site. */
  readonly queriesHref: string | undefined
  readonly sessionsHref: string
}

export interface AccountSite {
  readonly name: string
  readonly roles: readonly string[]
  /** The start page of the administration; undefined unless the person is an owner or admin of the site. */
  readonly adminHref: string | undefined
  readonly connectHref: string
}

/** Shows the person's account and sites. */
export function accountHomePage(page: AccountHomePage): Page {
  return areaPage({
    ...page,
    title: 'Your account',
    id: 'account-page',
    body: html`<dl class="facts">
<div><dt>Name</dt><dd><bdi>${page.person.name}</bdi></dd></div>
<div><dt>E-mail</dt><dd><bdi>${page.person.email}</bdi></dd></div>
</dl>
<h2>Your sites</h2>
${cards(page.sites.map(site), html`<p>You have no role at any site at the moment.</p>`)}
<h2>Applications</h2>
<p>See which applications may use your account, and remove those that you do not need any more.</p>
<p><a class="button second" href="${page.appsHref}">Connected apps</a></p>
<h2>Your browsers</h2>
<p>See where you are signed in, and sign out of computers that are not yours.</p>
<p><a class="button second" href="${page.sessionsHref}">Your browsers</a></p>
${
  page.queriesHref !== undefined &&
  html`<h2>For people who write programs</h2>
<p>Ask for your own courses and notifications as a program would.</p>
<p><a class="button second" href="${page.queriesHref}">Try the Member API</a></p>`
}`,
  })
}

function site({ name, roles, adminHref, connectHref }: AccountSite): Html {
  return html`<strong><bdi>${name}</bdi></strong><br>
<span class="muted">${rolesPhrase(roles)}</span><br>
<a href="${connectHref}">Connect an assistant to <bdi>${name}</bdi></a>${
    adminHref !== undefined && html`<br><a href="${adminHref}">Administer <bdi>${name}</bdi></a>`
  }`
}
