import { sql } from 'kysely'

import type { SiteLook } from '../../../views/site-look.ts'
import { type ColorSheet, colorSheet } from '../../../views/stylesheet.ts'
import { addressOf, pages } from '../../platform/http/paths.ts'
import type { Database } from '../../platform/store/database.ts'

/** What a site chose, each as `#rrggbb`; null is the service's own. */
export interface SiteColors {
  readonly accentColor: string | null
  readonly backgroundColor: string | null
}

/** What the pages show of a site: the part of its appearance that it chose. */
export type Look = NonNullable<Awaited<ReturnType<typeof findLook>>>

/** The look of a site, or nothing when it chose none. One query. */
export async function findLook({ kysely }: Database, siteId: string) {
  return await looks(kysely).where('chosen.site_id', '=', siteId).executeTakeFirst()
}

/** The look of the one site at which a person holds a role, or nothing. One query. */
export async function findLookOfPerson({ kysely }: Database, personId: string) {
  return await looks(kysely)
    .where(
      'chosen.site_id',
      '=',
      sql<string>`(select min(site_id) from site_role where person_id = ${personId}
        having count(distinct site_id) = 1)`,
    )
    .executeTakeFirst()
}

function looks(kysely: Database['kysely']) {
  return kysely
    .selectFrom('site_appearance as chosen')
    .innerJoin('site', 'site.id', 'chosen.site_id')
    .leftJoin('stored_file as logo', 'logo.id', 'chosen.logo_file_id')
    .select([
      'chosen.site_id as siteId',
      // The name of the site where it chose none for its pages.
      sql<string>`coalesce(chosen.display_name, site.name)`.as('name'),
      'chosen.display_name as displayName',
      'chosen.accent_color as accentColor',
      'chosen.background_color as backgroundColor',
      'chosen.sign_in_words as signInWords',
      'chosen.consent_words as consentWords',
      'logo.sha256 as logoDigest',
    ])
}

/** The file that is the logo of a site now and has this content; nothing else is shown to everybody. */
export async function findLogo({ kysely }: Database, siteId: string, digest: string) {
  return await kysely
    .selectFrom('site_appearance as chosen')
    .innerJoin('stored_file as logo', 'logo.id', 'chosen.logo_file_id')
    .select(['logo.id as fileId', 'logo.media_type as mediaType', 'logo.size_bytes as sizeBytes'])
    .where('chosen.site_id', '=', siteId)
    .where('logo.sha256', '=', digest)
    .executeTakeFirst()
}

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

/** The white of a card, and of the words on a button; and the two that words on a background may have. */
export const WHITE = '#ffffff'
const DARK = '#1b2429'

/** The colors of a page, with those that follow from what the site chose. */
function paletteOf({ accentColor, backgroundColor }: SiteColors) {
  return {
    accent: accentColor ?? undefined,
    accentOver: accentColor === null ? undefined : darker(accentColor),
    background: backgroundColor ?? undefined,
    /** The words on the background. */
    onBackground: backgroundColor === null ? undefined : textColorOn(backgroundColor),
  }
}

/** Dark or white text, whichever has the higher contrast on this background. */
export function textColorOn(background: string): string {
  return contrastOf(DARK, background) >= contrastOf(WHITE, background) ? DARK : WHITE
}

/** As many times the luminance of text and ground have to differ (WCAG 2.2, success criterion 1.4.3). */
export const CONTRAST_MIN = 4.5

/** How well text can be read on a ground, from 1 to 21 (WCAG 2.2, contrast ratio). Both as `#rrggbb`. */
export function contrastOf(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

/** WCAG 2.2, relative luminance, of a color in sRGB. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channelsOf(color)
    .map((channel) => channel / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** The same color with less light. */
export function darker(color: string): string {
  const shades = channelsOf(color).map((channel) => Math.round(channel * 0.75))
  return `#${shades.map((shade) => shade.toString(16).padStart(2, '0')).join('')}`
}

function channelsOf(color: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16))
}
