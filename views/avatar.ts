import { type Html, html } from './html.ts'

/** A picture, or the first letters of a name. The name is always beside it, so screen readers skip it. */
export function avatar(name: string, pictureHref?: string | null): Html {
  if (pictureHref != null)
    return html`<img class="avatar" src="${pictureHref}" alt="" width="32" height="32">`
  const [first, ...others] = name.trim().split(/\s+/u)
  const letters = [first, others.at(-1)].map((word) => [...(word ?? '')][0] ?? '').join('')
  return html`<span class="avatar" aria-hidden="true">${letters.toUpperCase()}</span>`
}
