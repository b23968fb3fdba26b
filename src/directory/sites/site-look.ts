import type { Context } from 'koa'
import { sql } from 'kysely'

import { type Html, localized } from '../../../views/html.ts'
import type { SiteLook } from '../../../views/site-look.ts'
import { colorSheet, type Stylesheet } from '../../../views/stylesheet.ts'
import { prefer } from '../../platform/http/language.ts'
import { addressOf, pages } from '../../platform/http/paths.ts'
import type { Database } from '../../platform/store/database.ts'

/** The colors of a site as `#rrggbb`; null means the default. */
export type SiteColors = Readonly<Record<'accentColor' | 'backgroundColor', string | null>>

/** The appearance of a site's pages. Colors, words and logo are null by default. */
export type Look = NonNullable<Awaited<ReturnType<typeof findLook>>>

/** Finds a site's appearance. */
export async function findLook({ kysely }: Pick<Database, 'kysely'>, siteId: string) {
  return parsed(await looks(kysely).where('site.id', '=', siteId).executeTakeFirst())
}

/** Finds the appearance of a person's site; undefined unless the person has roles at exactly one site. */
export async function findLookOfPerson({ kysely }: Database, personId: string) {
  const only = sql<string>`(select min(site_id) from site_role where person_id = ${personId}
    having count(distinct site_id) = 1)`
  return parsed(await looks(kysely).where('site.id', '=', only).executeTakeFirst())
}

/** The texts of a site in one language. If a text is null, pages show the site's text for all languages. */
export interface LocalTexts {
  readonly language: string
  readonly displayName: string | null
  readonly signInWords: string | null
  readonly consentWords: string | null
}

function parsed(look: Awaited<ReturnType<ReturnType<typeof looks>['executeTakeFirst']>>) {
  const texts: readonly LocalTexts[] = JSON.parse(look?.texts ?? '[]')
  const languages: readonly string[] = JSON.parse(look?.languages ?? '[]')
  return look && { ...look, texts, languages }
}

/** Returns one of a site's texts in the reader's language. Falls back to the text for all languages. */
export function shownText(
  look: Pick<Look, 'name' | 'texts'> & Partial<Look>,
  field: Exclude<keyof LocalTexts, 'language'>,
): Html {
  const otherwise = field === 'displayName' ? look.name : look[field]
  return localized(
    ({ language }) => look.texts.find((each) => each.language === language)?.[field] ?? otherwise,
  )
}

function looks(kysely: Database['kysely']) {
  return kysely
    .selectFrom('site')
    .leftJoin('site_appearance as chosen', 'chosen.site_id', 'site.id')
    .leftJoin('stored_file as logo', 'logo.id', 'chosen.logo_file_id')
    .select(['site.id as siteId', 'chosen.display_name as displayName'])
    .select(sql<string>`coalesce(chosen.display_name, site.name)`.as('name'))
    .select(['chosen.accent_color as accentColor', 'chosen.background_color as backgroundColor'])
    .select(['chosen.sign_in_words as signInWords', 'chosen.consent_words as consentWords'])
    .select(['chosen.logo_file_id as logoFileId', 'logo.sha256 as logoDigest'])
    .select(['chosen.updated_at as updatedAt', 'site.language'])
    .select(['site.languages', 'chosen.texts'])
}

/** Finds the current logo of a site if it has this digest. No other file of a site is public. */
export async function findLogo({ kysely }: Database, siteId: string, digest: string) {
  return await kysely
    .selectFrom('site_appearance as chosen')
    .innerJoin('stored_file as logo', 'logo.id', 'chosen.logo_file_id')
    .select(['logo.id as fileId', 'logo.media_type as mediaType', 'logo.size_bytes as sizeBytes'])
    .where('chosen.site_id', '=', siteId)
    .where('logo.sha256', '=', digest)
    .executeTakeFirst()
}

/** Returns a site's name, logo and colors. Also limits the page to the site's languages. */
export function siteLook(ctx: Context, look: Look | undefined): SiteLook | undefined {
  prefer(ctx, { site: look?.language, languages: look?.languages })
  if (!look) return undefined
  const { siteId, logoDigest } = look
  const sheet = sheetOf(look)
  return {
    name: shownText(look, 'displayName'),
    logoHref: logoAddress(siteId, logoDigest) ?? undefined,
    colorsHref: sheet && addressOf(pages.siteColors, { file: sheet.file }),
  }
}

/** Returns the public path of a site's logo; null without a logo. */
export function logoAddress(siteId: string, logoDigest: string | null): string | null {
  if (logoDigest === null) return null
  return addressOf(pages.siteLogo, { site: siteId, digest: logoDigest })
}

function sheetOf({ accentColor, backgroundColor }: SiteColors): Stylesheet | undefined {
  if (accentColor === null && backgroundColor === null) return undefined
  return colorSheet({
    accent: accentColor,
    background: backgroundColor,
    light: tokensOf(accentColor, backgroundColor, darker),
    dark: tokensOf(
      accentColor && brighter(accentColor),
      backgroundColor && dimmed(backgroundColor),
      (color) => mixed(color, WHITE, 0.25),
    ),
  })
}

/** Returns the custom properties of style.css for a site's colors. `over` computes the accent color on hover. */
function tokensOf(accent: string | null, ground: string | null, over: (color: string) => string) {
  return {
    ...(accent !== null && {
      accent,
      'accent-over': over(accent),
      'on-accent': textColorOn(accent),
    }),
    ...(ground !== null && {
      ground,
      'on-ground': textColorOn(ground),
      'on-ground-muted': textColorOn(ground),
      current: 'transparent',
    }),
  }
}

/** Generates a stylesheet from the colors in its file name; undefined for an invalid name. */
export function findColorSheet(file: string): Stylesheet | undefined {
  const [, accent, background] = /^colors-([0-9a-f]{6}|own)-([0-9a-f]{6}|own)-/.exec(file) ?? []
  if (accent === undefined || background === undefined) return undefined
  const colorOf = (digits: string) => (digits === 'own' ? null : `#${digits}`)
  const sheet = sheetOf({ accentColor: colorOf(accent), backgroundColor: colorOf(background) })
  return sheet?.file === file ? sheet : undefined
}

/** The color of cards and button text in the light scheme. Text on a site's background color is this color or DARK. */
export const WHITE = '#ffffff'
const DARK = '#1b2429'

/** Returns DARK or WHITE, whichever contrasts more with this background. */
export function textColorOn(background: string): string {
  return contrastOf(DARK, background) >= contrastOf(WHITE, background) ? DARK : WHITE
}

/** The minimum contrast ratio for normal-size text (WCAG 2.2, success criterion 1.4.3). */
export const CONTRAST_MIN = 4.5

/** Returns the contrast ratio of two `#rrggbb` colors, from 1 to 21 (WCAG 2.2). */
export function contrastOf(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

/** Returns the relative luminance of an sRGB color (WCAG 2.2). */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channelsOf(color)
    .map((channel) => channel / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Darkens a color by reducing each channel to three quarters of its value. */
function darker(color: string): string {
  return mixed(color, '#000000', 0.25)
}

/** The color of cards in the dark scheme (style.css). */
const DARK_CARD = '#192126'
/** Above CONTRAST_MIN, because notices are a little lighter than cards. */
const DARK_ACCENT_CONTRAST_MIN = 5.5
const DARK_GROUND_CONTRAST_MIN = 10

/** Lightens an accent color until it is readable on dark cards and notices. */
export function brighter(color: string): string {
  return firstMix(color, WHITE, (mix) => contrastOf(mix, DARK_CARD) >= DARK_ACCENT_CONTRAST_MIN)
}

/** Darkens a background color until it suits the dark scheme. Keeps a color that is already dark enough. */
export function dimmed(color: string): string {
  return firstMix(color, '#000000', (mix) => contrastOf(mix, WHITE) >= DARK_GROUND_CONTRAST_MIN)
}

function firstMix(color: string, other: string, suits: (mix: string) => boolean): string {
  const mixes = Array.from({ length: 20 }, (_, step) => mixed(color, other, step / 20))
  return mixes.find(suits) ?? other
}

/** Mixes two colors. `part` is the share of the second color, from 0 to 1. */
function mixed(color: string, other: string, part: number): string {
  const added = channelsOf(other)
  const channels = channelsOf(color).map((channel, index) =>
    Math.round(channel * (1 - part) + (added[index] ?? 0) * part),
  )
  return `#${channels.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
}

function channelsOf(color: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16))
}
