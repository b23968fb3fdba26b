import { type Html, html } from './html.ts'

/** How a site wants the pages of its people to look. */
export interface SiteLook {
  /** The name of the site, which its logo stands for too. */
  readonly name: string
  readonly logoHref: string | undefined
  /** A stylesheet that comes after the page's own. */
  readonly colorsHref: string | undefined
}

/** What a site says on a page, in its own words. */
export interface SiteWords {
  readonly siteName: string
  readonly text: string
}

/**
 * The header of a page that looks like a site. The name of the service stays, so that people know who
 * asks for their password. Where there is a logo, it is what says the name aloud.
 */
export function siteBrand({ name, logoHref }: SiteLook, serviceName: string): Html {
  return html`<header class="brand">
${logoHref !== undefined && html`<img src="${logoHref}" alt="${name}">`}
<span><span${logoHref !== undefined && html` aria-hidden="true"`}><bdi>${name}</bdi></span>
<small>on ${serviceName}</small></span>
</header>`
}

/** Words of the site, marked so that they are not mistaken for those of the service. */
export function siteWords(words: SiteWords | undefined): Html | undefined {
  if (!words) return undefined
  return html`<figure class="words">
<blockquote><bdi>${words.text}</bdi></blockquote>
<figcaption>– <bdi>${words.siteName}</bdi></figcaption>
</figure>`
}
