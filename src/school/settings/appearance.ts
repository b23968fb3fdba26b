/** Changes how a site looks on pages for its members and in mail. The markup is in `views`. */

import { z } from 'zod'

import { languages } from '../../../views/text.ts'
import {
  CONTRAST_MIN,
  contrastOf,
  findLook,
  type LocalTexts,
  type SiteColors,
  textColorOn,
  WHITE,
} from '../../directory/sites/site-look.ts'
import { checkedChange, differenceOf, type SiteWork } from '../changes/change.ts'
import { given, line, NAME_LENGTH_MAX, trimmed } from '../changes/input.ts'
import { badInput, ChangeRefused, mustBeThere } from '../changes/refusals.ts'
import { filePurposes } from '../files/file-kinds.ts'
import { holdFile } from '../files/stored-files.ts'

const { LOGO } = filePurposes

const color = z
  .string()
  .transform((value) => value.toLowerCase())
  .refine((value) => /^#[0-9a-f]{6}$/.test(value), 'must be a six-digit hex color, such as #0c665a')
  .nullable()

const form = z
  .strictObject({
    displayName: line(NAME_LENGTH_MAX).nullable(),
    logoFileId: z.string().max(200).nullable(),
    accentColor: color,
    backgroundColor: color,
    signInWords: trimmed(500).nullable(),
    consentWords: trimmed(500).nullable(),
    language: z.enum(languages).nullable(),
  })
  .partial()

export type AppearanceChanges = z.input<typeof form>

/**
 * Changes the given fields of a site's appearance. If a language is given, changes the texts in this language.
 *
 * @throws ChangeRefused for an invalid value, logo or color
 */
export const updateAppearance = checkedChange(
  form,
  async ({ trx, actor, record, writeLast }, input) => {
    const look = mustBeThere(await findLook({ kysely: trx }, actor.siteId), 'site')
    const { siteId, name: _name, updatedAt: _at, logoDigest: _digest, ...stored } = look
    const before = { ...stored, languages: undefined, texts: JSON.stringify(stored.texts) }
    const { language, displayName, signInWords, consentWords, ...others } = input
    const words = given({ displayName, signInWords, consentWords })
    const own = language == null ? words : { texts: withTexts(look.texts, language, words) }
    const change = differenceOf(before, { ...given(others), ...own })
    if (!change) return
    // The type allows undefined values, but `change.after` has none.
    const after = { ...before, ...change.after } as typeof before
    mustBeLegible(after)
    if (change.after.logoFileId != null) await holdLogo(trx, siteId, change.after.logoFileId)
    const values = {
      display_name: after.displayName,
      logo_file_id: after.logoFileId,
      accent_color: after.accentColor,
      background_color: after.backgroundColor,
      sign_in_words: after.signInWords,
      consent_words: after.consentWords,
      texts: after.texts,
      updated_at: actor.now,
    }
    writeLast(
      trx
        .insertInto('site_appearance')
        .values({ site_id: siteId, ...values })
        .onConflict((there) => there.column('site_id').doUpdateSet(values)),
    )
    record('appearance.update', { kind: 'site', id: siteId }, change)
  },
)

/** Returns the texts of all languages as JSON, with one language changed. Omits languages without texts. */
function withTexts(texts: readonly LocalTexts[], language: string, words: object): string {
  const before = texts.find((each) => each.language === language)
  const none = { language, displayName: null, signInWords: null, consentWords: null }
  const after: LocalTexts = { ...none, ...before, ...words }
  const kept = [...texts.filter((each) => each !== before), after].filter(
    (each) => each.displayName ?? each.signInWords ?? each.consentWords,
  )
  return JSON.stringify(kept.toSorted((a, b) => (a.language < b.language ? -1 : 1)))
}

async function holdLogo(trx: SiteWork['trx'], siteId: string, id: string): Promise<void> {
  const file = await holdFile(trx, siteId, id).catch((error: unknown) => {
    throw error instanceof ChangeRefused
      ? badInput('logoFileId', "must be one of the site's files")
      : error
  })
  if (!LOGO.mediaTypes.includes(file.mediaType)) {
    throw badInput(
      'logoFileId',
      `must be a file of type ${LOGO.mediaTypes.join(', ')}, not ${file.mediaType}`,
    )
  }
  if (file.sizeBytes > LOGO.bytesMax) {
    throw badInput('logoFileId', `must be a file of at most ${LOGO.bytesMax} bytes`)
  }
}

/** Throws ChangeRefused if text on a color would be illegible. */
function mustBeLegible({ accentColor, backgroundColor }: SiteColors): void {
  if (accentColor !== null) demandContrast('accentColor', accentColor, WHITE)
  if (backgroundColor !== null) {
    demandContrast('backgroundColor', backgroundColor, textColorOn(backgroundColor))
  }
}

function demandContrast(field: string, color: string, text: string): void {
  const ratio = contrastOf(color, text)
  if (ratio >= CONTRAST_MIN) return
  // Round down: 4.499 is too low, so do not show it as 4.5.
  const shown = Math.floor(ratio * 100) / 100
  throw badInput(
    field,
    `has too little contrast: text in ${text} on ${color} has a ratio of ${shown}:1; choose a color with at least ${CONTRAST_MIN}:1`,
  )
}
