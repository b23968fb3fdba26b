import {
  appearancePage,
  type LookFields,
  lookPreviewPage,
} from '../../../views/admin-appearance.ts'
import { availableLanguage, languages, siteLanguages } from '../../../views/text.ts'
import { findLook, type Look, logoAddress, siteLook } from '../../directory/sites/site-look.ts'
import { isRefusal, nothingHere } from '../../platform/http/errors.ts'
import { invalid, sendPage } from '../../platform/http/page.ts'
import { formField, formFields, formFile } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { ChangeRefused } from '../../school/changes/refusals.ts'
import { updateAppearance } from '../../school/settings/appearance.ts'
import { updateSiteRecord } from '../../school/settings/site-record.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminParts } from './admin-parts.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'
import { callerAtPage, type Problem, refusalText, tryChange } from './page-changes.ts'

/** Registers the page where operators choose a site's name, logo, colors, texts and languages, and the preview page. */
export function appearanceRoutes(
  operatorPages: OperatorPages,
  { api: { admin }, database }: AdminParts,
): void {
  const lookAt = async ({ site }: Operator) => {
    const look = await findLook(database, site.id)
    if (!look) throw new Error('the site of an operator does not exist')
    return look
  }
  const show = async (
    operator: Operator,
    ctx: PageContext,
    { problem, fields }: { readonly problem?: Problem; readonly fields?: LookFields } = {},
  ) => {
    const { site, address } = operator
    const [look, language] = [await lookAt(operator), languageOf(ctx)]
    const texts: Partial<Look> | undefined = look.texts.find((each) => each.language === language)
    const own = language ? texts : look
    return appearancePage({
      siteName: site.name,
      fields: fields ?? fieldsFrom((name) => own?.[name]),
      logoHref: logoAddress(site.id, look.logoDigest) ?? undefined,
      problem,
      previewAction: address(pages.appearancePreview) + queryOf({ language }),
      language,
      hrefOf: (each) => address(pages.appearance) + queryOf({ language: each }),
      choice: {
        action: address(pages.appearanceLanguages),
        chosen: siteLanguages(look.languages),
        standard: availableLanguage([look.language]),
      },
    })
  }
  operatorPages.page(pages.appearance, (operator, ctx) => show(operator, ctx))
  operatorPages.form(pages.appearance, async (operator, ctx) => {
    const [fields, language] = [typedFields(ctx), languageOf(ctx)]
    const logo = language ? {} : await storeLogo(admin, operator, ctx)
    if ('problem' in logo) return invalid(ctx, await show(operator, ctx, { ...logo, fields }))
    const { accentColor, backgroundColor, ...words } = fields
    const changed = language ? words : fields
    const values = Object.entries(changed).map(([name, value]) => [name, value || null])
    const input = { ...Object.fromEntries(values), ...logo, language }
    const change = async () => await updateAppearance(database, callerAtPage(operator), input)
    const problem = await tryChange(change)
    if (problem) return invalid(ctx, await show(operator, ctx, { problem, fields }))
    return operator.address(pages.appearance) + queryOf({ language, done: 'saved' })
  })
  operatorPages.form(pages.appearanceLanguages, async (operator, ctx) => {
    const language = availableLanguage([formField(ctx, 'language')])
    // Keep the region of a language such as es-MX, because the form has no field for it.
    const isSame = language === availableLanguage([(await lookAt(operator)).language])
    const input = {
      languages: languages.filter((each) => formFields(ctx, 'languages').includes(each)),
      ...(!isSame && { language: language ?? null }),
    }
    const change = async () => await updateSiteRecord(database, callerAtPage(operator), input)
    const problem = await tryChange(change)
    if (problem) return invalid(ctx, await show(operator, ctx, { problem }))
    return operator.address(pages.appearance) + queryOf({ done: 'saved' })
  })
  previewRoute(operatorPages, lookAt)
}

function previewRoute(operatorPages: OperatorPages, lookAt: (operator: Operator) => Promise<Look>) {
  operatorPages.form(pages.appearancePreview, async (operator, ctx) => {
    const [look, language] = [await lookAt(operator), languageOf(ctx)]
    const { displayName, accentColor, backgroundColor, signInWords } = typedFields(ctx)
    const colors = { accentColor: colorOf(accentColor), backgroundColor: colorOf(backgroundColor) }
    const name = displayName || (language ? look.name : operator.site.name)
    const shown = { ...look, ...(language ? {} : colors), texts: [], name, displayName: name }
    const page = lookPreviewPage({
      look: siteLook(ctx, shown),
      siteName: name,
      words: signInWords || (language && look.signInWords) || '',
      language,
    })
    sendPage(ctx, page)
    return undefined
  })
}

/** Stores the uploaded logo, if any. Returns the changed field, if any, or the problem. */
async function storeLogo(admin: AdminParts['api']['admin'], operator: Operator, ctx: PageContext) {
  const file = formFile(ctx, 'logo')
  if (!file) return formField(ctx, 'removeLogo') === 'yes' ? { logoFileId: null } : {}
  try {
    return { logoFileId: await admin.storeFile(callerAtPage(operator), file) }
  } catch (error) {
    if (!(error instanceof ChangeRefused || isRefusal(error))) throw error
    const refused = isRefusal(error) ? ({ code: 'BAD_INPUT', field: 'logoFileId' } as const) : error
    return { problem: { field: 'logoFileId', text: refusalText(refused) } }
  }
}

/**
 * Returns the language whose texts the page shows; undefined for the texts that apply to all languages.
 *
 * @throws nothingHere for an unknown language; otherwise, the form would change the texts for all languages
 */
function languageOf({ query: { language: asked } }: PageContext) {
  const language = availableLanguage([String(asked)])
  if (asked !== undefined && language === undefined) throw nothingHere()
  return language
}

function queryOf(values: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(values).filter((entry): entry is [string, string] => !!entry[1])
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}

function fieldsFrom(read: (name: keyof LookFields) => string | null | undefined): LookFields {
  const names = ['displayName', 'accentColor', 'backgroundColor', 'signInWords', 'consentWords']
  const fields = names.map((name) => [name, read(name as keyof LookFields) ?? ''])
  return Object.fromEntries(fields) as LookFields
}

function typedFields(ctx: PageContext): LookFields {
  return fieldsFrom((name) => formField(ctx, name).trim())
}

/** Returns the color in the form that the stylesheet needs; null if it is not a color. */
function colorOf(typed: string): string | null {
  return /^#[0-9a-f]{6}$/i.test(typed) ? typed.toLowerCase() : null
}
