import { type Html, html } from './html.ts'

const format = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'UTC',
})

/** A time in words. Without a script a page cannot know where its reader is, so it says UTC. */
export function timeOf(ms: number): Html {
  const date = new Date(ms)
  return html`<time datetime="${date.toISOString()}">${format.format(date)} UTC</time>`
}
