import { html } from './html.ts'
import type { Page } from './layout.ts'
import { type TextValues, text } from './text.ts'

/** The heading, sentence and next step of each page that only says what happened. */
const notes = {
  'signed-out-everywhere': ['everywhere.done', 'everywhere.then', 'word.signIn'],
  /** The person cancelled the sign-in. */
  'not-signed-in': ['notSignedIn.title', 'notSignedIn.text', 'word.signIn'],
  /** The person signed in with one factor, but two are required. */
  'two-factors-needed': ['twoFactors.heading', 'twoFactors.text', undefined],
  /** The person is signed in for one site only, and opened a page outside that site. */
  'other-way': ['otherWay.title', 'otherWay.text', 'otherWay.title'],
  'password-set': ['passwordSet.title', 'passwordSet.text', 'word.signIn'],
  'factor-reset-done': ['factorReset.done', 'factorReset.next', 'word.signIn'],
  /** A link was used, has expired or is incomplete. */
  'link-gone': ['linkGone.title', 'linkGone.text', 'linkGone.again'],
  'deletion-scheduled': ['data.scheduled', 'data.dueAt', 'data.keep'],
  joined: ['join.joined', 'join.connect', 'word.continue'],
  declined: ['join.declined', 'join.again', 'word.continue'],
} as const

/** Says what happened, and names the next step, if any. The step is a link if `nextHref` is given. */
export function notePage(name: keyof typeof notes, nextHref?: string, values?: TextValues): Page {
  const [title, sentence, next] = notes[name]
  const step = next && text(next)
  return {
    title: text(title, values),
    id: `${name}-page`,
    body: html`<p>${text(sentence, values)}</p>
<p>${nextHref === undefined ? step : html`<a id="continue" class="button" href="${nextHref}">${step}</a>`}</p>`,
  }
}
