/** How a site looks on the pages of sign-in, consent and account. The markup of the pages is not known here. */

import type { Kysely } from 'kysely'
import { z } from 'zod'

import {
  CONTRAST_MIN,
  contrastOf,
  type SiteColors,
  textColorOn,
  WHITE,
} from '../../directory/sites/site-look.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { changeSite, differenceOf, type SiteActor } from '../changes/change.ts'
import { given, line, NAME_LENGTH_MAX, readInput, text } from '../changes/input.ts'
import { badInput, ChangeRefused } from '../changes/refusals.ts'
import { holdFile } from '../files/stored-files.ts'

const WORDS_LENGTH_MAX = 500

/** It is loaded on every page of a sign-in. */
const LOGO_BYTES_MAX = 512 * 1024

/** GIFs are pictures too, and many of them move. */
const logoTypes = ['image/png', 'image/jpeg', 'image/webp']

const color = z
  .string()
  .transform((value) => value.toLowerCase())
  .refine((value) => /^#[0-9a-f]{6}$/.test(value), 'must be a color like #0c665a')
  .nullable()

const form = z
  .strictObject({
    displayName: line(NAME_LENGTH_MAX).nullable(),
    logoFileId: z.string().max(200).nullable(),
    accentColor: color,
    backgroundColor: color,
    signInWords: text(WORDS_LENGTH_MAX).nullable(),
    consentWords: text(WORDS_LENGTH_MAX).nullable(),
  })
  .partial()

export type AppearanceChanges = z.input<typeof form>
export type Appearance = Awaited<ReturnType<typeof findAppearance>>

const nothing = {
  displayName: null,
  logoFileId: null,
  accentColor: null,
  backgroundColor: null,
  signInWords: null,
  consentWords: null,
}

/** The appearance of a site; all null while nobody chose one. One query. */
export async function findAppearance(
  { kysely }: { readonly kysely: Kysely<Schema> },
  siteId: string,
) {
  const found = await kysely
    .selectFrom('site_appearance as chosen')
    .leftJoin('stored_file as logo', 'logo.id', 'chosen.logo_file_id')
    .select([
      'chosen.display_name as displayName',
      'chosen.logo_file_id as logoFileId',
      'chosen.accent_color as accentColor',
      'chosen.background_color as backgroundColor',
      'chosen.sign_in_words as signInWords',
      'chosen.consent_words as consentWords',
      'chosen.updated_at as updatedAt',
      'logo.sha256 as logoDigest',
    ])
    .where('chosen.site_id', '=', siteId)
    .executeTakeFirst()
  return found ?? { ...nothing, updatedAt: null, logoDigest: null }
}

/**
 * Changes what is given of the appearance of the actor's site. What is so already is no change.
 *
 * @throws ChangeRefused that names the field: a color with which words could not be read says the
 * contrast that it has and the one that it needs
 */
export async function updateAppearance(
  database: Database,
  actor: SiteActor,
  input: AppearanceChanges,
): Promise<void> {
  const wanted = given(readInput(form, input))
  const { siteId } = actor
  await changeSite(database, actor, async (trx, record) => {
    const found = await findAppearance({ kysely: trx }, siteId)
    const { updatedAt, logoDigest, ...before } = found
    const change = differenceOf(before, wanted)
    if (!change) return
    // What was not given is not in it, whatever its type says.
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
      updated_at: actor.now,
    }
    await trx
      .insertInto('site_appearance')
      .values({ site_id: siteId, ...values })
      .onConflict((there) => there.column('site_id').doUpdateSet(values))
      .execute()
    await record({ action: 'appearance.update', subject: { kind: 'site', id: siteId }, ...change })
  })
}

async function holdLogo(...[trx, siteId, id]: Parameters<typeof holdFile>): Promise<void> {
  const file = await holdFile(trx, siteId, id).catch((error: unknown) => {
    throw error instanceof ChangeRefused ? badInput('logoFileId', 'is no file of the site') : error
  })
  if (!logoTypes.includes(file.mediaType)) {
    throw badInput('logoFileId', `must be one of ${logoTypes.join(', ')}, not ${file.mediaType}`)
  }
  if (file.sizeBytes > LOGO_BYTES_MAX) {
    throw badInput('logoFileId', `must have at most ${LOGO_BYTES_MAX} bytes`)
  }
}

/**
 * @throws ChangeRefused that names the color which words could not be read with, and by how much
 */
function mustBeLegible({ accentColor, backgroundColor }: SiteColors): void {
  if (accentColor !== null) {
    demand('accentColor', {
      ratio: contrastOf(accentColor, WHITE),
      pair: `${accentColor} with ${WHITE}, the words of buttons and the ground of links,`,
    })
  }
  if (backgroundColor !== null) {
    const words = textColorOn(backgroundColor)
    demand('backgroundColor', {
      ratio: contrastOf(backgroundColor, words),
      pair: `${backgroundColor} with ${words}, the better of the two colors of words on it,`,
    })
  }
}

function demand(
  field: string,
  { ratio, pair }: { readonly ratio: number; readonly pair: string },
): void {
  if (ratio >= CONTRAST_MIN) return
  // Cut and not rounded, or 4.49 would be told as enough.
  const shown = Math.floor(ratio * 100) / 100
  throw badInput(
    field,
    `must be legible: ${pair} has a contrast of ${shown}:1, and ${CONTRAST_MIN}:1 is needed`,
  )
}
