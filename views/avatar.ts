import { type Html, html } from './html.ts'

/** The first letters of a name that stands beside it. Not a picture: pages load none from other hosts. */
export function avatar(name: string): Html {
  const [first, ...others] = name.trim().split(/\s+/u)
  const letters = [first, others.at(-1)].map((word) => [...(word ?? '')][0] ?? '').join('')
  return html`<span class="avatar" aria-hidden="true">${letters.toUpperCase()}</span>`
}
