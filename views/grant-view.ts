import { type Html, html } from './html.ts'
import { timeOf } from './time.ts'

/** How a grant is used, as its person and the operator see it. */
export interface GrantView {
  /** Ends of the sentence "Can see …". */
  readonly canSee: readonly string[]
  /** Ends of the sentence "Can change …". */
  readonly canChange: readonly string[]
  readonly grantedAt: number
  readonly lastUsedAt: number | undefined
  /** Calls in the last 30 days. */
  readonly calls: number
}

const number = new Intl.NumberFormat('en')

/** The facts of a grant, as rows of a list of facts. */
export function grantFacts(view: GrantView): Html {
  return html`${scopeFact('Can see', view.canSee)}${scopeFact('Can change', view.canChange)}
<div><dt>Allowed</dt><dd>${timeOf(view.grantedAt)}</dd></div>
<div><dt>Last used</dt><dd>${view.lastUsedAt === undefined ? 'not yet' : timeOf(view.lastUsedAt)}</dd></div>
<div><dt>Last 30 days</dt><dd>${callsPhrase(view.calls)}</dd></div>`
}

function scopeFact(label: string, ends: readonly string[]): Html | undefined {
  if (ends.length === 0) return undefined
  return html`<div><dt>${label}</dt><dd><ul class="plain">
${ends.map((end) => html`<li>${end}</li>\n`)}</ul></dd></div>
`
}

function callsPhrase(calls: number): string {
  return calls === 1 ? '1 call' : `${number.format(calls)} calls`
}
