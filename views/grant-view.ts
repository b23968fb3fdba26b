import { plainList } from './area.ts'
import { type Html, html } from './html.ts'
import { timeOf } from './time.ts'

/** A grant and its use, as shown to its person and to operators. */
export interface GrantView {
  /** Endings of the sentence "Can see …". */
  readonly canSee: readonly string[]
  /** Endings of the sentence "Can change …". */
  readonly canChange: readonly string[]
  readonly grantedAt: number
  readonly lastUsedAt: number | undefined
  /** The number of calls in the last 30 days. */
  readonly calls: number
}

const number = new Intl.NumberFormat('en')

/** Renders a grant as entries of a definition list. */
export function grantFacts(view: GrantView): Html {
  return html`${scopeFact('Can see', view.canSee)}${scopeFact('Can change', view.canChange)}
<div><dt>Allowed</dt><dd>${timeOf(view.grantedAt)}</dd></div>
<div><dt>Last used</dt><dd>${view.lastUsedAt === undefined ? 'not yet' : timeOf(view.lastUsedAt)}</dd></div>
<div><dt>Last 30 days</dt><dd>${callsPhrase(view.calls)}</dd></div>`
}

function scopeFact(label: string, ends: readonly string[]): Html | undefined {
  if (ends.length === 0) return undefined
  return html`<div><dt>${label}</dt><dd>${plainList(ends)}</dd></div>\n`
}

function callsPhrase(calls: number): string {
  return calls === 1 ? '1 call' : `${number.format(calls)} calls`
}
