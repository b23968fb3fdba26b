import {
  appearancePage,
  type LookFields,
  lookPreviewPage,
} from '../../../views/admin-appearance.ts'
import { findLook, logoAddress, siteLook } from '../../directory/sites/site-look.ts'
import { isRefusal } from '../../platform/http/errors.ts'
import { noticeOf } from '../../platform/http/page.ts'
import { formField, formFile } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { ChangeRefused } from '../../school/changes/refusals.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminParts } from './admin-parts.ts'
import { askAdminApi, callerAtPage, type Problem, sentenceOf } from './ask-admin-api.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'

const CHANGE = `mutation ($input: UpdateAppearanceInput!) {
  updateAppearance(input: $input) { appearance { displayName } }
}`

/** Registers the page on which operators choose name, logo, colors and texts of a site, and its preview. */
export function appearanceRoutes(
  operatorPages: OperatorPages,
  { api: { admin }, database }: AdminParts,
): void {
  const show = async (operator: Operator, ctx: PageContext, problem?: Problem) => {
    const { area, site, address } = operator
    const look = await findLook(database, site.id)
    if (!look) throw new Error('the site of an operator does not exist')
    return appearancePage({
      area,
      siteName: site.name,
      fields: problem ? typedFields(ctx) : fieldsFrom((name) => look[name]),
      logoHref: logoAddress(site.id, look.logoDigest) ?? undefined,
      problem,
      action: address(pages.appearance),
      previewAction: address(pages.appearancePreview),
      done: noticeOf(ctx, { saved: 'Saved. The next page that members open shows it.' }),
    })
  }
  operatorPages.page(pages.appearance, (operator, ctx) => show(operator, ctx))
  operatorPages.form(pages.appearance, async (operator, ctx) => {
    const logo = await storeLogo(operator, ctx)
    if ('problem' in logo) return await show(operator, ctx, logo.problem)
    const fields = Object.entries(typedFields(ctx)).map(([name, value]) => [name, value || null])
    const input = { ...Object.fromEntries(fields), ...logo }
    const { problem } = await askAdminApi(admin.executeAdmin, operator, CHANGE, { input })
    if (problem) return await show(operator, ctx, problem)
    return `${operator.address(pages.appearance)}?done=saved`
  })
  operatorPages.form(pages.appearancePreview, async ({ site }, ctx) => {
    const look = await findLook(database, site.id)
    const { displayName, accentColor, backgroundColor, signInWords } = typedFields(ctx)
    const name = displayName || site.name
    const colors = { accentColor: colorOf(accentColor), backgroundColor: colorOf(backgroundColor) }
    return lookPreviewPage({
      look: look && siteLook({ ...look, ...colors, name, displayName: name }),
      siteName: name,
      words: signInWords,
    })
  })

  /** Stores the uploaded logo, if there is one. Returns the changed field, if any, or the problem. */
  const storeLogo = async (operator: Operator, ctx: PageContext) => {
    const file = formFile(ctx, 'logo')
    if (!file) return formField(ctx, 'removeLogo') === 'yes' ? { logoFileId: null } : {}
    try {
      return { logoFileId: await admin.storeFile(callerAtPage(operator), file) }
    } catch (error) {
      if (!(error instanceof ChangeRefused || isRefusal(error))) throw error
      const message = error instanceof ChangeRefused ? error.message : error.error_description
      return {
        problem: { field: 'logoFileId', text: sentenceOf(message ?? 'the file is invalid') },
      }
    }
  }
}

function fieldsFrom(read: (name: keyof LookFields) => string | null): LookFields {
  return {
    displayName: read('displayName') ?? '',
    accentColor: read('accentColor') ?? '',
    backgroundColor: read('backgroundColor') ?? '',
    signInWords: read('signInWords') ?? '',
    consentWords: read('consentWords') ?? '',
  }
}

function typedFields(ctx: PageContext): LookFields {
  return fieldsFrom((name) => formField(ctx, name).trim())
}

/** Returns the color in the form that the stylesheet needs; null if it is not a color. */
function colorOf(typed: string): string | null {
  return /^#[0-9a-f]{6}$/i.test(typed) ? typed.toLowerCase() : null
}
