import { type Html, html } from './html.ts'

const format = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'UTC',
})

/** A moment in words. Without a script a page cannot know where its reader is, so it says UTC. */
export function moment(ms: number): Html {
  const date = new Date(ms)
  return html`<time datetime="${date.toISOString()}">${format.format(date)} UTC</time>`
}
