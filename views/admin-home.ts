import type { Measure, OverviewDayView } from './admin-overview.ts'
import { type AreaPage, cards, plainList } from './area.ts'
import { sparkline } from './chart.ts'
import { snippet } from './connect-steps.ts'
import { buttonForm } from './forms.ts'
import { type Html, html } from './html.ts'
import { copyScript } from './script.ts'
import { inLink, listText, numberText, type TextId, text } from './text.ts'

/** Lists the sites that a person operates. */
export function adminSitesPage(page: {
  readonly sites: readonly { readonly name: string; readonly href: string }[]
}): AreaPage {
  return {
    title: text('account.sites'),
    id: 'admin-sites-page',
    body: cards(page.sites.map(({ name, href }) => html`<a href="${href}"><bdi>${name}</bdi></a>`)),
  }
}

export interface AdminHomePage {
  readonly siteName: string
  /** Whether the beta feature MCP connections is on, so members can connect apps. */
  readonly isOn: boolean
  readonly figures: {
    readonly days: readonly OverviewDayView[]
    readonly peopleByWeek: Weeks
  }
  readonly state: SiteStateView
  /** The URL of the page that tells members how to connect an assistant. */
  readonly memberAddress: string
  /** The path of this page. The paths of the site's other pages begin with it. */
  readonly href: string
  readonly signUpHref: string
  readonly hasSelfSignUp: boolean
  /** Whether the person may turn self sign-up on and off. */
  readonly isOwner: boolean
}

/** A figure, usually for the last seven days, and the same figure a week earlier. */
type Weeks = Readonly<Record<'last' | 'before', number>>

/** The set-up of a site, and the items that its operators should check. */
export interface SiteStateView {
  readonly applications: number
  readonly operators: number
  readonly hasLogo: boolean
  readonly providers: readonly string[]
  /** The number of connected clients whose current metadata document is neither approved nor blocked. */
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
export function adminHomePage(page: AdminHomePage): AreaPage {
  const { siteName } = page
  return {
    title: text('adminHome.title', { site: siteName }),
    heading: html`<bdi>${siteName}</bdi>`,
    id: 'admin-page',
    scripts: [copyScript],
    body: html`<p id="summary">${homeSummary(page)}</p>
${page.state.applications > 0 ? tiles(page) : html`<p><a class="button" href="${page.href}/assistants">${text('adminHome.addFirst')}</a></p>`}
<div class="cards">
${attentionCard(page)}
${stepsCard(page)}
${membersCard(page)}
${signInCard(page)}
</div>`,
  }
}

function homeSummary({ isOn, state, href }: AdminHomePage): Html {
  const { applications: apps } = state
  if (apps === 0) return text('adminHome.noApp')
  if (!isOn) return text('adminHome.off', { a: inLink(`${href}/beta`) })
  return text('adminHome.use', { apps, a: inLink(`${href}/applications`) })
}

const WEEK = 7
const sum = (values: readonly number[]) => values.reduce((one, other) => one + other, 0)
const weeksOf = (values: readonly number[]): Weeks => ({
  last: sum(values.slice(-WEEK)),
  before: sum(values.slice(-2 * WEEK, -WEEK)),
})

function tiles({ figures: { days, peopleByWeek }, href }: AdminHomePage): Html {
  const valuesOf = (measure: Measure) => days.map((day) => day[measure])
  const tile = (measure: Measure, label: TextId, weeks: Weeks) => html`<li class="card">
<a href="${href}/overview?measure=${measure}">${text(label)}</a>
<strong>${numberText(weeks.last)}</strong>
<span class="small">${changeOf(weeks)}</span>
${sparkline(valuesOf(measure))}
</li>
`
  const weekly = (measure: Measure) =>
    tile(measure, `analytics.measures.${measure}`, weeksOf(valuesOf(measure)))
  const connected = valuesOf('connected')
  const connections = { last: connected.at(-1) ?? 0, before: connected.at(-1 - WEEK) ?? 0 }
  return html`<h2 class="hidden">${text('adminHome.week')}</h2>
<ul class="tiles">
${tile('connected', 'adminHome.connections', connections)}${tile('people', 'adminHome.activePeople', peopleByWeek)}${weekly('calls')}${weekly('signIns')}${weekly('refusals')}</ul>
<p class="small">${text('adminHome.tiles')}</p>`
}

/** Compares a figure with its value a week earlier. */
function changeOf({ last: now, before }: Weeks): Html {
  const moved = now > before ? 'up' : 'down'
  const change = now === before ? 'same' : moved
  return text('adminHome.change', {
    change: before === 0 && now > 0 ? 'first' : change,
    before,
    ratio: Math.abs(now - before) / (before || 1),
  })
}

/** The minimum number of refusals per week that can need attention. */
const MANY_REFUSALS = 10

/**
 * Compares the refusals of two weeks. Returns `rose`, which needs attention, if there are at least MANY_REFUSALS and at
 * least twice as many as before. Returns `usual` for any other rise, and undefined if the refusals did not increase.
 */
export function judgeRefusals(last: number, before: number): 'rose' | 'usual' | undefined {
  if (last <= before) return undefined
  return last >= MANY_REFUSALS && last >= 2 * before ? 'rose' : 'usual'
}

function attentionCard({ figures, state, href: home }: AdminHomePage): Html {
  const { last, before } = weeksOf(figures.days.map((day) => day.refusals))
  const { unreviewed: count, oldSecrets, neverExchanged } = state
  const change = judgeRefusals(last, before)
  const reasons = inLink(`${home}/overview?measure=refusals&days=7#reasons`)
  const counted = { before, last, many: MANY_REFUSALS, a: reasons }
  const app = (name: string) => html`<bdi>${name}</bdi>`
  const rows = [
    change === 'rose' && text('adminHome.refusalsRose', counted),
    count > 0 &&
      text('adminHome.unreviewed', { count, a: inLink(`${home}/self-declared-clients`) }),
    ...oldSecrets.map(({ name, href }) =>
      text('adminHome.oldSecret', { app: app(name), a: inLink(href) }),
    ),
    ...neverExchanged.map(({ name, href }) =>
      text('adminHome.noExchange', { app: app(name), a: inLink(`${href}/refusals`) }),
    ),
  ].filter((row) => row !== false)
  const list = plainList(
    rows.map((row) => html`<span class="tag warning">${text('adminHome.look')}</span> ${row}`),
  )
  const good = html`<p><span class="tag good">${text('adminHome.good')}</span></p>`
  // A tile above shows every rise, so explain that a usual rise needs no attention.
  const note = change === 'usual' && html`<p>${text('adminHome.refusalsUsual', counted)}</p>`
  return homeCard('attention', html`${rows.length === 0 ? good : list}\n${note}`)
}

function stepsCard({ state, href: home }: AdminHomePage): Html | undefined {
  const steps = [
    { isDone: state.applications > 0, words: text('adminHome.stepApp'), page: 'assistants' },
    { isDone: state.hasLogo, words: text('adminHome.stepLogo'), page: 'appearance' },
    { isDone: state.operators > 1, words: text('adminHome.stepColleague'), page: 'people' },
  ]
  if (steps.every(({ isDone }) => isDone)) return undefined
  const rows = steps.map(({ isDone, words, page }) =>
    isDone
      ? html`<span class="tag good">${text('adminHome.done')}</span> ${words}`
      : html`<span class="tag">${text('adminHome.toDo')}</span> <a href="${home}/${page}">${words}</a>`,
  )
  return homeCard('steps', plainList(rows))
}

function membersCard({ isOn, state, memberAddress }: AdminHomePage): Html | undefined {
  if (!isOn || state.applications === 0) return undefined
  return homeCard(
    'members',
    html`${snippet(memberAddress)}
<p><a href="${memberAddress}">${text('adminHome.membersSee')}</a></p>`,
  )
}

function signInCard({ state, href, signUpHref, hasSelfSignUp, isOwner }: AdminHomePage): Html {
  const [on, other] = hasSelfSignUp ? ['yes', 'no'] : ['no', 'yes']
  const target = { action: `${href}/self-sign-up`, hidden: { on: other } }
  const ways = listText([
    ...state.providers.map((name) => html`<bdi>${name}</bdi>`),
    text('adminHome.password'),
    text('adminHome.passkey'),
  ])
  const label = text('adminHome.switchSignUp', { on })
  return homeCard(
    'signIn',
    html`<p>${text('adminHome.ways', { ways, a: isOwner ? inLink(`${href}/identity-providers`) : () => html`` })}</p>
<p id="sign-up-state">${text('adminHome.signUpState', { on, a: inLink(signUpHref) })}</p>
${isOwner && buttonForm(target, 'switch-sign-up', label, 'second')}`,
  )
}

function homeCard(id: 'attention' | 'steps' | 'members' | 'signIn', body: Html): Html {
  return html`<section class="card" aria-labelledby="${id}">
<h2 id="${id}">${text(`adminHome.${id}`)}</h2>
${body}
</section>`
}
