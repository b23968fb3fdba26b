/** Pages, as functions from data to escaped markup. Whatever a page says is handed to it. */

import { type Html, html } from './html.ts'
import { iconShape, iconSvg } from './icon.ts'
import { type SiteLook, siteBrand } from './site-look.ts'
import type { Stylesheet } from './stylesheet.ts'

/** What a page says, before the service that sends it puts its name around it. */
export interface Page {
  /** The title of the window; every page writes its own single h1 into `body`. */
  readonly title: string
  /** The id of `main`, by which tests and the conformance suite know the page. */
  readonly id: string
  readonly stylesheet: Stylesheet
  readonly body: Html
  /** What stands between the header and the page: the navigation of an area. */
  readonly navigation?: Html | undefined
  /** What it loads beside its stylesheet. */
  readonly head?: Html | undefined
  /** How the site wants it to look for whose people it is. */
  readonly look?: SiteLook | undefined
}

/** What is the same for all pages of a service. */
export interface Frame {
  /** The name by which people know the service. */
  readonly serviceName: string
  readonly stylesheetHref: string
}

// In the tab it cannot take the colour of the page, as it does beside the name.
const icon = `data:image/svg+xml,${encodeURIComponent(iconSvg)}`

/** The whole document around the body of a page. It needs no script and asks for one file only, but for the looks of a site. */
export function layout(page: Page, { serviceName, stylesheetHref }: Frame): Html {
  const { title, id, body, navigation, head, look } = page
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – ${serviceName}</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="${stylesheetHref}">
${look?.colorsHref !== undefined && html`<link rel="stylesheet" href="${look.colorsHref}">`}
${head}
</head>
<body>
${look ? siteBrand(look, serviceName) : ownBrand(serviceName)}
${navigation}
<main id="${id}">
${body}
</main>
</body>
</html>
`
}

function ownBrand(serviceName: string): Html {
  return html`<header class="brand">
<svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true"><path fill="currentColor" d="${iconShape}"/></svg>
<span>${serviceName}</span>
</header>`
}
