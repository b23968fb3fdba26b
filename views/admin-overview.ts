import { type AreaView, areaPage } from './area.ts'
import { type Bar, columnChart, rowChart } from './chart.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { errorWords } from './texts/refusals.ts'
import { timeOf } from './time.ts'

export interface OverviewPage {
  readonly area: AreaView
  readonly siteName: string
  readonly countedAt: number
  readonly days: readonly OverviewDayView[]
  /** The number of distinct people who used an application in the whole period. */
  readonly people: number
  readonly reasons: readonly { readonly error: string; readonly refusals: number }[]
  readonly applicationsHref: string | undefined
  readonly auditHref: string
}

export type Measure = 'connected' | 'people' | 'calls' | 'signIns' | 'refusals'

export type OverviewDayView = Readonly<Record<Measure, number>> & { readonly date: string }

interface Section {
  readonly measure: Measure
  readonly title: string
  readonly what: string
  /** Returns the summary of the section, such as "12 in all" or "3 today". */
  readonly inAll: (values: readonly number[], page: OverviewPage) => string
}

const sum = (values: readonly number[]) => values.reduce((one, other) => one + other, 0)

const sections: readonly Section[] = [
  {
    measure: 'connected',
    title: 'Connected apps',
    what: 'How many accesses there were on each day: one for each member and application.',
    inAll: (values) => `${values.at(-1) ?? 0} today`,
  },
  {
    measure: 'people',
    title: 'People who used them',
    what: 'How many different members used an application on each day.',
    inAll: (_values, { people }) =>
      `${people} different ${people === 1 ? 'person' : 'people'} in all`,
  },
  {
    measure: 'calls',
    title: 'Calls',
    what: 'How often applications used their access.',
    inAll: (values) => `${sum(values)} in all`,
  },
  {
    measure: 'signIns',
    title: 'Sign-ins',
    what: 'How often members were signed in at an application.',
    inAll: (values) => `${sum(values)} in all`,
  },
  {
    measure: 'refusals',
    title: 'Refusals',
    what: 'How many requests of the site’s own applications were refused.',
    inAll: (values) => `${sum(values)} in all`,
  },
]

/** Shows how applications were used at a site on each of the last days, as charts and tables. */
export function overviewPage(page: OverviewPage): Page {
  const { siteName, days, countedAt, reasons } = page
  return areaPage({
    ...page,
    title: 'The last 30 days',
    heading: `The last ${days.length} days`,
    id: 'overview-page',
    body: html`<p>What applications did for members of <bdi>${siteName}</bdi>. A day is a day in UTC, and today is not over.
Counted ${timeOf(countedAt)}.</p>
${sections.map((section) => sectionOf(section, page))}
<section aria-labelledby="reasons-heading">
<h2 id="reasons-heading">Refusals by reason</h2>
${reasons.length === 0 ? html`<p>Nothing was refused.</p>` : reasonsOf(reasons)}
<p class="small">Each application has its last refusals with the exact reason on its page${
      page.applicationsHref !== undefined &&
      html` under <a href="${page.applicationsHref}">OAuth applications</a>`
    }. Who did what is in the <a href="${page.auditHref}">audit trail</a>.</p>
</section>`,
  })
}

function sectionOf({ measure, title, what, inAll }: Section, page: OverviewPage): Html {
  const values = page.days.map((day) => day[measure])
  const most = Math.max(0, ...values)
  const summary = `${inAll(values, page)}; at most ${most} a day.`
  const bars = page.days.map((day) => ({ label: day.date, value: day[measure] }))
  return html`<section aria-labelledby="${measure}-heading">
<h2 id="${measure}-heading">${title}</h2>
<p class="hint">${what} <strong>${inAll(values, page)}.</strong></p>
${columnChart({ id: `${measure}-chart`, title: `${title}, day by day`, summary, bars })}
${numbers(title, 'Day', title, bars)}
</section>
`
}

function reasonsOf(reasons: OverviewPage['reasons']): Html {
  const [first] = reasons
  const title = 'Refusals by reason'
  const bars = reasons.map(({ error, refusals }) => ({ label: errorWords(error), value: refusals }))
  const rows = reasons.map((row) => ({
    label: `${errorWords(row.error)} (${row.error})`,
    value: row.refusals,
  }))
  const summary =
    first === undefined ? '' : `Most often: ${errorWords(first.error)}, ${first.refusals} times.`
  return html`${rowChart({ id: 'reasons-chart', title, summary, bars })}
${numbers(title, 'Reason', 'Refusals', rows)}`
}

/** The numbers of a chart as a table. `of` and `measure` are the headings of its columns. */
function numbers(title: string, of: string, measure: string, rows: readonly Bar[]): Html {
  return html`<details>
<summary>${title}: the numbers</summary>
<table class="figures">
<caption class="hidden">${title}: the numbers</caption>
<thead><tr><th scope="col">${of}</th><th scope="col">${measure}</th></tr></thead>
<tbody>
${rows.map(({ label, value }) => html`<tr><th scope="row">${label}</th><td>${value}</td></tr>\n`)}</tbody>
</table>
</details>`
}
