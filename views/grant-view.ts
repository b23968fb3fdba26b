import { plainList } from './area.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import { text, timeOf } from './text.ts'

/** A scope, and the end of the sentence “can see …” or “can change …”. */
export interface ScopeText {
  readonly name: string
  readonly text: HtmlValue
}

/** A grant and its use, as shown to the person and to operators. */
export interface GrantView {
  readonly canSee: readonly ScopeText[]
  readonly canChange: readonly ScopeText[]
  readonly grantedAt: number
  readonly lastUsedAt: number | undefined
  /** The number of calls in the last 30 days. */
  readonly calls: number
}

/** Renders a grant as entries of a definition list. */
export function grantFacts(view: GrantView): Html {
  return html`${scopeFact(text('consent.canSee'), view.canSee)}${scopeFact(text('consent.canChange'), view.canChange)}
<div><dt>${text('grant.since')}</dt><dd>${timeOf(view.grantedAt)}</dd></div>
<div><dt>${text('word.lastUsed')}</dt><dd>${view.lastUsedAt === undefined ? text('grant.notYet') : timeOf(view.lastUsedAt)}</dd></div>
<div><dt>${text('grant.days')}</dt><dd>${text('grant.calls', { calls: view.calls })}</dd></div>`
}

function scopeFact(label: Html, ends: readonly ScopeText[]): Html | undefined {
  if (ends.length === 0) return undefined
  return html`<div><dt>${label}</dt><dd>${plainList(ends.map((end) => end.text))}</dd></div>\n`
}
