import { type Html, html } from './html.ts'

/** Renders the initials of a name, not a picture, because pages load nothing from other hosts. */
export function avatar(name: string): Html {
  const [first, ...others] = name.trim().split(/\s+/u)
  const letters = [first, others.at(-1)].map((word) => [...(word ?? '')][0] ?? '').join('')
  return html`<bdi class="avatar" aria-hidden="true">${letters.toUpperCase()}</bdi>`
}
