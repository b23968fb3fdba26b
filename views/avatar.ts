import { type Html, type HtmlValue, html, localized, plain } from './html.ts'

/** Renders a logo or, without one, the initials of a name. Never loads a picture from another host (decision 25). */
export function avatar(name: HtmlValue, logo?: Html): Html {
  if (logo) return html`<span class="avatar logo">${logo}</span>`
  const letters = localized((reader) => {
    const [first, ...others] = plain(name, reader).trim().split(/\s+/u)
    const initials = [first, others.at(-1)].map((word) => [...(word ?? '')][0] ?? '')
    return initials.join('').toUpperCase()
  })
  return html`<bdi class="avatar" aria-hidden="true">${letters}</bdi>`
}
