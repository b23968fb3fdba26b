import type { Measure, OverviewDayView } from './admin-overview.ts'
import { type AreaView, areaPage, cards, plainList } from './area.ts'
import { sparkline } from './chart.ts'
import { snippet } from './connect-steps.ts'
import { buttonForm } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { copyScript } from './script.ts'

/** Lists the sites that a person operates. */
export function adminSitesPage({
  area,
  sites,
}: {
  readonly area: AreaView
  readonly sites: readonly { readonly name: string; readonly href: string }[]
}): Page {
  return areaPage({
    language: 'en',
    title: 'Your sites',
    id: 'admin-sites-page',
    area,
    heading: 'Which site?',
    body: cards(sites.map(({ name, href }) => html`<a href="${href}"><bdi>${name}</bdi></a>`)),
  })
}

export interface AdminHomePage {
  readonly area: AreaView
  readonly siteName: string
  /** Whether members can connect apps at all: the beta feature MCP connections. */
  readonly isOn: boolean
  readonly figures: {
    readonly days: readonly OverviewDayView[]
    readonly peopleByWeek: Readonly<Record<'last' | 'before', number>>
  }
  readonly state: SiteStateView
  /** The URL of the page with the steps for members. */
  readonly memberAddress: string
  readonly hrefs: Readonly<
    Record<
      | 'appearance'
      | 'applications'
      | 'assistants'
      | 'beta'
      | 'documentClients'
      | 'identityProviders'
      | 'overview'
      | 'people',
      string
    >
  >
  readonly selfSignUp: {
    readonly isOn: boolean
    readonly signUpHref: string
    /** The URL of the form that turns self sign-up on or off; undefined for people who may not do so. */
    readonly action: string | undefined
  }
  readonly done: HtmlValue
}

/** The set-up of a site, and the items that its operators should check. */
export interface SiteStateView {
  readonly applications: number
  readonly operators: number
  readonly hasLogo: boolean
  /** The names of the identity providers. */
  readonly providers: readonly string[]
  /** Connected clients with a metadata document that no operator has reviewed. */
  readonly unreviewed: number
  /** Applications and resource servers with a secret older than a year. */
  readonly oldSecrets: readonly NamedLink[]
  /** Applications that people authorized, but that never exchanged a code. */
  readonly neverExchanged: readonly NamedLink[]
}

interface NamedLink {
  readonly name: string
  readonly href: string
}

/** The start page for operators of a site: figures, items that need attention, first steps, and sign-in settings. */
export function adminHomePage(page: AdminHomePage): Page {
  const { siteName } = page
  return areaPage({
    language: 'en',
    ...page,
    title: `Administer ${siteName}`,
    heading: html`<bdi>${siteName}</bdi>`,
    id: 'admin-page',
    scripts: [copyScript],
    body: html`<p id="summary">${summary(page)}</p>
${page.state.applications > 0 ? tiles(page) : html`<p><a class="button" href="${page.hrefs.assistants}">Add the first app</a></p>`}
<div class="cards">
${attentionCard(page)}
${stepsCard(page)}
${membersCard(page)}
${signInCard(page)}
</div>`,
  })
}

function summary({ isOn, state, figures, hrefs }: AdminHomePage): Html {
  const { applications } = state
  if (applications === 0)
    return html`Your school has no app yet. An app, such as Claude, helps members with their own courses.`
  if (!isOn)
    return html`Members cannot use apps: <a href="${hrefs.beta}">MCP connections is off</a>.`
  const people = figures.peopleByWeek.last
  return html`Members can connect <a href="${hrefs.applications}">${counted(applications, 'app')}</a>. ${
    people === 0 ? 'No person' : counted(people, 'person', 'people')
  } used apps in the last 7 days.`
}

const WEEK = 7
const sum = (values: readonly number[]) => values.reduce((one, other) => one + other, 0)

function tiles({ figures: { days, peopleByWeek }, hrefs }: AdminHomePage): Html {
  const tile = (
    measure: Measure,
    label: string,
    now: number,
    before: number,
  ) => html`<li class="card">
<a href="${hrefs.overview}?measure=${measure}">${label}</a>
<strong>${now.toLocaleString('en')}</strong>
<span class="small">${changeOf(now, before)}</span>
${sparkline(days.map((day) => day[measure]))}
</li>
`
  const weekly = (measure: Measure, label: string) => {
    const values = days.map((day) => day[measure])
    return tile(measure, label, sum(values.slice(-WEEK)), sum(values.slice(-2 * WEEK, -WEEK)))
  }
  const connected = days.map((day) => day.connected)
  return html`<h2 class="hidden">The last 7 days</h2>
<ul class="tiles">
${tile('connected', 'Connections', connected.at(-1) ?? 0, connected.at(-1 - WEEK) ?? 0)}${tile('people', 'Active people', peopleByWeek.last, peopleByWeek.before)}${weekly('calls', 'Calls')}${weekly('signIns', 'Sign-ins')}${weekly('refusals', 'Refusals')}</ul>
<p class="small">What apps did for members in the last 7 days, today included. The lines show 30 days.</p>`
}

/** Compares a figure with the week before. */
function changeOf(now: number, before: number): string {
  if (now === before) return 'as the week before'
  if (before === 0) return 'none the week before'
  const percent = Math.round((Math.abs(now - before) / before) * 100)
  return `${now > before ? 'up' : 'down'} ${percent} % from ${before.toLocaleString('en')}`
}

/** The number of refusals a week from which a doubling needs attention. */
const MANY_REFUSALS = 10

function attentionCard({ figures, state, hrefs }: AdminHomePage): Html {
  const refusals = figures.days.map((day) => day.refusals)
  const [last, before] = [sum(refusals.slice(-WEEK)), sum(refusals.slice(-2 * WEEK, -WEEK))]
  const { unreviewed, oldSecrets, neverExchanged } = state
  const rows = [
    last >= MANY_REFUSALS &&
      last >= 2 * before &&
      html`Refusals rose from ${before} to ${last} in a week. <a href="${hrefs.overview}?measure=refusals&days=7#reasons">See the reasons</a>`,
    unreviewed > 0 &&
      html`${counted(unreviewed, 'connected app is', 'connected apps are')} not reviewed. <a href="${hrefs.documentClients}">Review</a>`,
    ...oldSecrets.map(
      ({ name, href }) =>
        html`A secret of <bdi>${name}</bdi> is older than a year. <a href="${href}">Replace it</a>`,
    ),
    ...neverExchanged.map(
      ({ name, href }) =>
        html`People allowed <bdi>${name}</bdi>, but it completed no sign-in. <a href="${href}/refusals">See its refusals</a>`,
    ),
  ].filter((row) => row !== false)
  return card(
    'attention',
    'Needs attention',
    rows.length === 0
      ? html`<p><span class="tag good">All good</span> Nothing needs your attention.</p>`
      : plainList(rows.map((row) => html`<span class="tag warning">Look</span> ${row}`)),
  )
}

function stepsCard({ state, hrefs }: AdminHomePage): Html | undefined {
  const steps = [
    {
      isDone: state.applications > 0,
      words: 'Add the first app or assistant',
      href: hrefs.assistants,
    },
    { isDone: state.hasLogo, words: 'Add the logo of your school', href: hrefs.appearance },
    { isDone: state.operators > 1, words: 'Make a colleague a second admin', href: hrefs.people },
  ]
  if (steps.every(({ isDone }) => isDone)) return undefined
  const rows = steps.map(({ isDone, words, href }) =>
    isDone
      ? html`<span class="tag good">Done</span> ${words}`
      : html`<span class="tag">To do</span> <a href="${href}">${words}</a>`,
  )
  return card('steps', 'First steps', plainList(rows))
}

function membersCard({ isOn, state, memberAddress }: AdminHomePage): Html | undefined {
  if (!isOn || state.applications === 0) return undefined
  return card(
    'members',
    'For your members',
    html`<p>Give them this address. It shows how to connect each app:</p>
${snippet(memberAddress)}
<p><a href="${memberAddress}">See what members see</a></p>`,
  )
}

function signInCard({ area, state, hrefs, selfSignUp }: AdminHomePage): Html {
  const { isOn, signUpHref, action } = selfSignUp
  const hidden = { on: isOn ? 'no' : 'yes' }
  const label = `Switch self sign-up ${isOn ? 'off' : 'on'}`
  const names = state.providers.map((name) => html`<bdi>${name}</bdi>, `)
  return card(
    'signing-in',
    'How people sign in',
    html`<p>With ${names}a password or a passkey. <a href="${hrefs.identityProviders}">Change</a></p>
<h3>Self sign-up</h3>
<p id="sign-up-state"><strong>${isOn ? 'On' : 'Off'}</strong>. ${
      isOn
        ? html`Anyone can <a href="${signUpHref}">create an account</a> and join as a student.`
        : 'Only people whom an operator invites can join.'
    }</p>
${action !== undefined && buttonForm({ action, csrf: area.csrf, hidden }, 'switch-sign-up', label, 'second')}`,
  )
}

function card(id: string, heading: string, body: Html): Html {
  return html`<section class="card" aria-labelledby="${id}">
<h2 id="${id}">${heading}</h2>
${body}
</section>`
}

function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`
}
