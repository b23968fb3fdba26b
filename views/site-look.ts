import { type Html, type HtmlValue, html, localized, plain } from './html.ts'
import { text } from './text.ts'

/** The look that a site gives to pages for its members. */
export interface SiteLook {
  /** The name of the site, which is also the alternative text of its logo. */
  readonly name: HtmlValue
  readonly logoHref: string | undefined
  /** The stylesheet with the site's colors. It replaces the service's own stylesheet. */
  readonly colorsHref: string | undefined
}

/** A text that a site adds to a page. */
export interface SiteWords {
  readonly siteName: HtmlValue
  /** The text; nothing is shown if it is empty in the language of the reader. */
  readonly text: HtmlValue
}

/**
 * The header of a page with the look of a site. It also names the service, so people know who asks for their password.
 * A screen reader reads the name of the site only once: from the logo, if there is one.
 */
export function siteBrand({ name, logoHref }: SiteLook, serviceName: string): Html {
  return html`<header class="brand">
${logoHref === undefined ? html`<span class="avatar" aria-hidden="true">${localized((reader) => [...plain(name, reader)][0]?.toUpperCase())}</span>` : html`<img src="${logoHref}" alt="${name}">`}
<span><span${logoHref !== undefined && html` aria-hidden="true"`}><bdi>${name}</bdi></span>
<small>${text('brand.on', { service: serviceName })}</small></span>
</header>`
}

/** Renders a site's text as a quotation, so it cannot be mistaken for the service's own text. */
export function siteWords(words: SiteWords | undefined): Html | undefined {
  if (!words) return undefined
  const quoted = html`<figure class="words">
<blockquote><bdi>${words.text}</bdi></blockquote>
<figcaption>– <bdi>${words.siteName}</bdi></figcaption>
</figure>`
  return localized((reader) => plain(words.text, reader) !== '' && quoted)
}
