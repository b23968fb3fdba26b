/** Renders the document around a page, with its head, header, navigation and scripts. */

import { focusWrongField, type Html, type HtmlValue, html, withoutTags } from './html.ts'
import { iconShape, iconSvg } from './icon.ts'
import type { Script } from './script.ts'
import { type SiteLook, siteBrand } from './site-look.ts'
import { languageAttributes, text } from './text.ts'

/** A page, before `layout` adds the document and the header around it. */
export interface Page {
  /** The h1 and, without its tags, the title of the document. */
  readonly title: HtmlValue
  /** The h1, if it differs from the title. */
  readonly heading?: HtmlValue
  /** Whether the page asks the person to correct a form. The title of the document then says so. */
  readonly isWrong?: boolean
  /** The target of the link above the heading. */
  readonly back?: { readonly href: string; readonly name: HtmlValue }
  /** The id of `main`, by which tests and the conformance suite identify the page. */
  readonly id: string
  readonly body: Html
  /** The navigation of an area, between the header and the page. */
  readonly navigation?: Html | undefined
  readonly head?: Html | undefined
  /** Scripts at the end of the page. The page's Content-Security-Policy allows them. */
  readonly scripts?: readonly Script[] | undefined
  /** The language of the page, if it does not depend on the reader. */
  readonly language?: string | undefined
  /** Whether submitting a form of the page may redirect to a client. */
  readonly leadsToClient?: boolean
  readonly look?: SiteLook | undefined
}

/** The name of the service, and the URL of the page's stylesheet. */
export interface Frame {
  readonly serviceName: string
  readonly stylesheetHref: string
}

// The icon of the browser tab cannot inherit its color from the page.
const icon = `data:image/svg+xml,${encodeURIComponent(iconSvg)}`

/** Renders the whole document of a page. */
export function layout(page: Page, { serviceName, stylesheetHref }: Frame): Html {
  const { title, heading = title, isWrong, back, id, body, navigation, head, look } = page
  const { scripts = [] } = page
  const shownTitle = isWrong ? text('layout.wrong', { title }) : title
  const brand = look ? siteBrand(look, serviceName) : ownBrand(serviceName)
  return html`<!doctype html>
<html${languageAttributes}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${withoutTags(shownTitle)} – ${serviceName}</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="${look?.colorsHref ?? stylesheetHref}">
${head}
</head>
<body${navigation && html` class="with-side"`}>
${navigation ? html`<a class="skip" href="#${id}">${text('layout.skip')}</a>\n<div class="side">\n${brand}\n${navigation}\n</div>` : brand}
<main id="${id}">
${back && html`<p class="small"><a href="${back.href}"><bdi>${back.name}</bdi></a></p>`}
<h1>${heading}</h1>
${isWrong ? focusWrongField(body) : body}
</main>
${scripts.map(({ element }) => element)}</body>
</html>
`
}

function ownBrand(serviceName: string): Html {
  return html`<header class="brand">
<span class="avatar"><svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true"><path fill="currentColor" d="${iconShape}"/></svg></span>
<span>${serviceName}</span>
</header>`
}
