import { type Html, html } from './html.ts'

const format = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'UTC',
})

/** Renders a time in UTC, because a page without scripts does not know the reader's time zone. */
export function timeOf(ms: number): Html {
  const date = new Date(ms)
  return html`<time datetime="${date.toISOString()}">${format.format(date)} UTC</time>`
}
