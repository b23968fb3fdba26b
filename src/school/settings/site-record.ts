import { z } from 'zod'

import { availableLanguage, languages, siteLanguages } from '../../../views/text.ts'
import { type SiteFeature, setFeature } from '../../directory/sites/site-admin.ts'
import { compiledOnce, runStatement, type Valued } from '../../platform/store/compiled-queries.ts'
import type { Database } from '../../platform/store/database.ts'
import { checkedChange, differenceOf, findRoles, siteChange } from '../changes/change.ts'
import {
  given,
  line,
  mailAddress,
  NAME_LENGTH_MAX,
  pageAddress,
  summary,
} from '../changes/input.ts'
import { badInput, conflict } from '../changes/refusals.ts'

const form = z
  .strictObject({
    name: line(NAME_LENGTH_MAX),
    description: summary.nullable(),
    contactEmail: mailAddress.nullable(),
    address: pageAddress.nullable(),
    timeZone: z.string().refine(isTimeZone, 'must be a time zone like Europe/Vienna').nullable(),
    language: z.string().refine(isLanguage, 'must be a language tag like de').nullable(),
    languages: z
      .array(z.enum(languages))
      .max(languages.length)
      .transform((chosen) => JSON.stringify(siteLanguages(chosen)))
      .transform((chosen) => (chosen === JSON.stringify(languages) ? '[]' : chosen)),
  })
  .partial()

export type SiteChanges = z.input<typeof form>

export async function readSiteRecord({ kysely }: Pick<Database, 'kysely'>, siteId: string) {
  const { rows } = await runStatement(kysely, recordOf(kysely, { siteId }))
  if (!rows[0]) throw new Error(`site ${siteId} does not exist`)
  return rows[0]
}

const recordOf = compiledOnce((kysely, value: Valued<{ siteId: string }>) =>
  kysely
    .selectFrom('site')
    .select(['id', 'slug', 'name', 'description', 'contact_email as contactEmail', 'address'])
    .select(['time_zone as timeZone', 'language', 'languages', 'created_at as createdAt'])
    .where('id', '=', value('siteId')),
)

/** Changes the given settings of the site. No-op if nothing differs. @throws ChangeRefused for an invalid value */
export const updateSiteRecord = checkedChange(
  form,
  async ({ trx, actor, record, writeLast }, input) => {
    const before = await readSiteRecord({ kysely: trx }, actor.siteId)
    const change = differenceOf(before, given(input))
    if (!change) return
    const { language, languages: chosen } = { ...before, ...change.after }
    const among = siteLanguages(JSON.parse(chosen))
    if (availableLanguage([language]) !== availableLanguage([language], among)) {
      throw badInput('languages', `must include the site's language, ${language}`)
    }
    const { contactEmail: contact_email, timeZone: time_zone, ...same } = change.after
    writeLast(
      trx
        .updateTable('site')
        .set(given({ ...same, contact_email, time_zone }))
        .where('id', '=', actor.siteId),
    )
    record('site.update', { kind: 'site', id: actor.siteId }, change)
  },
)

/** Switches a feature of the site on or off. @throws ChangeRefused if the actor is not an owner */
export const switchSiteFeature = siteChange(
  async ({ trx, actor }, change: { readonly feature: SiteFeature; readonly on: boolean }) => {
    const { siteId, personId } = actor
    const roles = await findRoles(trx, siteId, personId)
    if (!roles.includes('owner'))
      throw conflict('only owners can change how people sign in; ask an owner')
    await setFeature(trx, { siteId, ...change }, actor)
  },
)

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone.length > 0
  } catch {
    return false
  }
}

function isLanguage(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag)[0] === tag
  } catch {
    return false
  }
}
