import { type RefusalView, refusalColumns } from './admin-application-use.ts'
import { type AreaPage, tabBar } from './area.ts'
import { type Bar, columnChart } from './chart.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import { type Column, table } from './table.ts'
import { dayText, errorWords, inCode, numberText, text, timeOf } from './text.ts'

export interface OverviewPage {
  readonly measure: Measure
  /** The periods, in days, that the reader can choose from. */
  readonly periods: readonly number[]
  readonly countedAt: number
  readonly days: readonly OverviewDayView[]
  /** The number of distinct people who used an application in the whole period. */
  readonly people: number
  readonly reasons: readonly { readonly error: string; readonly refusals: number }[]
  /** The path of the site's home page. The paths of the site's other pages begin with it. */
  readonly siteHref: string
  /** The latest refusals of all applications and resource servers; empty unless the page shows refusals. */
  readonly latest: readonly (RefusalView & {
    readonly name: string
    readonly href: string | undefined
  })[]
}

export const measures = ['connected', 'people', 'calls', 'signIns', 'refusals'] as const
export type Measure = (typeof measures)[number]

export type OverviewDayView = Readonly<Record<Measure, number>> & { readonly date: string }

/** Shows a daily usage figure of a site's apps for the chosen period, as a chart and a table. */
export function overviewPage(page: OverviewPage): AreaPage {
  const { days, measure, periods } = page
  const link = (shown: Measure, count: number) => `?measure=${shown}&days=${count}`
  const title = text(`analytics.measures.${measure}`)
  const values = days.map((day) => day[measure])
  const bars = days.map((day) => ({ label: dayText(day.date), value: day[measure] }))
  const periodTabs = periods.map((count) => ({
    label: text('analytics.days', { count }),
    href: link(measure, count),
    current: count === days.length,
  }))
  return {
    title: text('analytics.title'),
    id: 'overview-page',
    tabs: measures.map((each) => ({
      label: text(`analytics.measures.${each}`),
      href: link(each, days.length),
      current: each === measure,
    })),
    body: html`<div class="split"><p><strong>${totalText(values, page)}</strong><br>
<span class="muted">${text(`analytics.measures.${measure}.what`)}</span></p>
${tabBar(text('analytics.period'), periodTabs)}</div>
${values.some((value) => value > 0) ? chartOf(title, bars, page) : empty(page)}
${page.latest.length > 0 && html`<h2>${text('analytics.latest')}</h2>\n${table(text('analytics.latest'), latestColumns, page.latest)}`}
<p class="small">${text('analytics.utc', { time: timeOf(page.countedAt) })} <a id="download" href="${page.siteHref}/overview/download?days=${days.length}">${text('analytics.download')}</a></p>`,
  }
}

function empty({ measure, siteHref }: OverviewPage): Html {
  return html`<div class="empty" id="no-figures"><p>${text('analytics.empty')}</p>
${measure !== 'refusals' && html`<a class="button second" href="${siteHref}/assistants">${text('account.connect')}</a>`}</div>`
}

function chartOf(title: HtmlValue, bars: readonly Bar[], page: OverviewPage): Html {
  const values = bars.map(({ value }) => value)
  const summary = html`${totalText(values, page)}; ${text('analytics.most', { count: Math.max(...values) })}.`
  const caption = text('analytics.numbers', { title })
  return html`${columnChart(title, summary, bars)}
<details>
<summary>${caption}</summary>
<table class="figures">
<caption class="hidden">${caption}</caption>
<thead><tr><th scope="col">${text('analytics.day')}</th><th scope="col">${title}</th></tr></thead>
<tbody>
${bars.toReversed().map(({ label, value }) => html`<tr><th scope="row">${label}</th><td>${numberText(value)}</td></tr>\n`)}</tbody>
</table>
</details>
${page.measure === 'refusals' && html`<h2 id="reasons">${text('analytics.reasons')}</h2>\n${table(text('analytics.reasons'), reasonColumns, page.reasons)}`}`
}

function totalText(values: readonly number[], { measure, people }: OverviewPage): Html {
  if (measure === 'people') return text('analytics.people', { count: people })
  if (measure === 'connected') return text('analytics.today', { count: values.at(-1) ?? 0 })
  const count = values.reduce((one, other) => one + other, 0)
  return text('analytics.inAll', { count })
}

const reasonColumns: readonly Column<OverviewPage['reasons'][number]>[] = [
  {
    heading: text('analytics.reason'),
    cell: ({ error }) => html`<span class="long">${errorWords(error)} (${inCode(error)})</span>`,
  },
  {
    heading: text('analytics.measures.refusals'),
    cell: ({ refusals }) => numberText(refusals),
    isNumber: true,
  },
]

const [when, ...others] = refusalColumns
const latestColumns: readonly Column<OverviewPage['latest'][number]>[] = [
  when,
  {
    heading: text('word.app'),
    cell: ({ name, href }) =>
      href === undefined
        ? html`<bdi>${name}</bdi>`
        : html`<a href="${href}"><bdi>${name}</bdi></a>`,
  },
  ...others,
]
