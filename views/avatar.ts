import { type Html, type HtmlValue, html, localized, plain } from './html.ts'

/** Renders the initials of a name, not a picture, because pages load nothing from other hosts. */
export function avatar(name: HtmlValue): Html {
  const letters = localized((reader) => {
    const [first, ...others] = plain(name, reader).trim().split(/\s+/u)
    const initials = [first, others.at(-1)].map((word) => [...(word ?? '')][0] ?? '')
    return initials.join('').toUpperCase()
  })
  return html`<bdi class="avatar" aria-hidden="true">${letters}</bdi>`
}
