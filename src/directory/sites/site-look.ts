import type { SiteLook } from '../../../views/site-look.ts'
import { type ColorSheet, colorSheet } from '../../../views/stylesheet.ts'
import { addressOf, pages } from '../../platform/http/paths.ts'
import { paletteOf, type SiteColors } from './colors.ts'
import type { Look } from './find-look.ts'

/** What a page is drawn with; nothing when the site chose neither name nor logo nor colors. */
export function siteLook(look: Look | undefined): SiteLook | undefined {
  if (!look) return undefined
  const { siteId, name, displayName, logoDigest } = look
  const sheet = sheetOf(look)
  if (displayName === null && logoDigest === null && !sheet) return undefined
  return {
    name,
    logoHref: logoAddress(siteId, logoDigest) ?? undefined,
    colorsHref: sheet && addressOf(pages.siteColors, { file: sheet.file }),
  }
}

/** Where the logo of a site is served; null without one. */
export function logoAddress(siteId: string, logoDigest: string | null): string | null {
  if (logoDigest === null) return null
  return addressOf(pages.siteLogo, { site: siteId, digest: logoDigest })
}

function sheetOf(colors: SiteColors): ColorSheet | undefined {
  if (colors.accentColor === null && colors.backgroundColor === null) return undefined
  return colorSheet(paletteOf(colors))
}

/**
 * The stylesheet of this name, or nothing when no colors have it. Its name says the colors, so that it
 * is made again wherever it is asked for, and nothing is looked up.
 */
export function findColorSheet(file: string): ColorSheet | undefined {
  const [, accent, background] = /^colors-([0-9a-f]{6}|own)-([0-9a-f]{6}|own)-/.exec(file) ?? []
  if (accent === undefined || background === undefined) return undefined
  const colorOf = (digits: string) => (digits === 'own' ? null : `#${digits}`)
  const sheet = sheetOf({ accentColor: colorOf(accent), backgroundColor: colorOf(background) })
  return sheet?.file === file ? sheet : undefined
}
