import { type Html, html } from './html.ts'
import { moment } from './time.ts'

/** How a connection is used, as its person and the operator see it. */
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

/** The facts of a connection, as rows of a list of facts. */
export function connectionFacts(view: GrantView): Html {
  return html`${abilityFact('Can see', view.canSee)}${abilityFact('Can change', view.canChange)}
<div><dt>Allowed</dt><dd>${moment(view.grantedAt)}</dd></div>
<div><dt>Last used</dt><dd>${view.lastUsedAt === undefined ? 'not yet' : moment(view.lastUsedAt)}</dd></div>
<div><dt>Last 30 days</dt><dd>${callsPhrase(view.calls)}</dd></div>`
}

function abilityFact(label: string, ends: readonly string[]): Html | undefined {
  if (ends.length === 0) return undefined
  return html`<div><dt>${label}</dt><dd><ul class="plain">
${ends.map((end) => html`<li>${end}</li>\n`)}</ul></dd></div>
`
}

function callsPhrase(calls: number): string {
  return calls === 1 ? '1 call' : `${number.format(calls)} calls`
}
