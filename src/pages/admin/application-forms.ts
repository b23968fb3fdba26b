import { applicationFormPage } from '../../../views/admin-application-form.ts'
import { furtherPage } from '../../../views/admin-application-further.ts'
import type { Html } from '../../../views/html.ts'
import { text } from '../../../views/text.ts'
import { invalid } from '../../platform/http/page.ts'
import { formField, formFields } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import {
  checkEntry,
  choosableScopes,
  type EntryProblems,
  entryOf,
  OPERATOR,
  type TypedEntry,
} from '../applications/application-form.ts'
import type { Application } from '../applications/application-lists.ts'
import { applicationKinds } from '../applications/application-store.ts'
import {
  type ChoiceProblems,
  checkChoices,
  type TypedChoices,
  typedChoicesOf,
} from '../applications/protocol-choices.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminParts } from './admin-parts.ts'
import { mustOwn, type Operator, type OperatorPages } from './operator-pages.ts'
import { secretOwner } from './stop-and-secret-routes.ts'

const nothingTyped: TypedEntry = {
  ...{ name: '', redirectUris: '', postLogoutRedirectUris: '' },
  ...{ authMethod: '', scopes: [] },
}

type Wrong = { readonly problems?: EntryProblems; readonly problem?: Html }

const { perSiteMax } = applicationKinds.site
const tooMany = { problem: text('applications.tooMany', { count: perSiteMax }) }
const sameName = { problems: { name: text('applications.sameName') } }

/** Registers the forms that create an application, edit it, and choose its optional protocols. */
export function applicationFormRoutes(operatorPages: OperatorPages, parts: AdminParts): void {
  const { applications, newSecrets, redirectRules, offersChoices } = parts
  const onApplication = operatorPages.of('site')

  const formPage = (
    { address }: Operator,
    typed: TypedEntry,
    app?: Application,
    wrong: Wrong = {},
  ) =>
    applicationFormPage({
      editing: app?.name,
      action: address(app ? pages.editApplication : pages.applications),
      cancelHref: address(app ? pages.application : pages.applications),
      typed,
      choices: choosableScopes(typed.authMethod === OPERATOR),
      appSchemes: redirectRules.appSchemes.map((scheme) => `${scheme}//…`),
      problems: wrong.problems ?? {},
      problem: wrong.problem,
    })

  const { freshPage, freshForm } = operatorPages.whereOn
  freshPage(pages.newApplication, (operator, { querystring }) => {
    const isOperator = new URLSearchParams(querystring).get('kind') === OPERATOR
    mustOwn({ isOperator }, operator)
    return formPage(operator, isOperator ? { ...nothingTyped, authMethod: OPERATOR } : nothingTyped)
  })
  freshForm(pages.applications, pages.newApplication, async (operator, ctx) => {
    const { site, actor, address } = operator
    const typed = typedEntry(ctx)
    mustOwn({ isOperator: typed.authMethod === OPERATOR }, operator)
    const checked = checkEntry(typed, redirectRules)
    if (checked.kind === 'bad') return invalid(ctx, formPage(operator, typed, undefined, checked))
    const created = await applications.create(site.id, checked.application, actor)
    if (typeof created === 'string') {
      const wrong = created === 'taken' ? sameName : tooMany
      return invalid(ctx, formPage(operator, typed, undefined, wrong))
    }
    const { clientId: client, secret } = created
    newSecrets.set(ctx, secretOwner(operator, client), secret)
    return `${address(pages.application, { client })}?done=created`
  })

  onApplication.page(pages.editApplication, (app, operator) =>
    formPage(operator, entryOf(app), app),
  )
  onApplication.form(pages.editApplication, async (app, operator, ctx) => {
    mustOwn(app, operator)
    // Keep the kind: a change would leave the application without a secret, or with a useless secret.
    const kind = app.authMethod === 'none' ? 'none' : 'client_secret_post'
    const typed = { ...typedEntry(ctx), authMethod: app.isOperator ? OPERATOR : kind }
    const checked = checkEntry(typed, redirectRules)
    if (checked.kind === 'bad') return invalid(ctx, formPage(operator, typed, app, checked))
    const updated = await applications.update(app, checked.application, operator.actor)
    if (updated === 'taken') return invalid(ctx, formPage(operator, typed, app, sameName))
    return `${operator.address(pages.application)}?done=saved`
  })
  if (offersChoices) furtherRoutes(operatorPages, parts)
}

function typedEntry(ctx: PageContext): TypedEntry {
  return {
    name: formField(ctx, 'name'),
    redirectUris: formField(ctx, 'redirect_uris'),
    postLogoutRedirectUris: formField(ctx, 'post_logout_redirect_uris'),
    authMethod: formField(ctx, 'auth_method'),
    scopes: formFields(ctx, 'scope'),
    isEndless: formField(ctx, 'endless') !== '',
  }
}

function furtherRoutes(operatorPages: OperatorPages, parts: AdminParts): void {
  const { applications, furtherPlans: plans } = parts
  const onApplication = operatorPages.of('site')

  const formPage = (
    { name, authMethod }: Application,
    { address }: Operator,
    typed: TypedChoices,
    problems: ChoiceProblems,
  ) =>
    furtherPage({
      name,
      cancelHref: address(pages.application),
      plans: { ...plans, privateKeyJwt: plans.privateKeyJwt && authMethod !== 'none' },
      typed,
      problems,
    })

  onApplication.page(pages.applicationSecurity, (app, operator) =>
    formPage(app, operator, typedChoicesOf(app.further), {}),
  )
  onApplication.form(pages.applicationSecurity, async (app, operator, ctx) => {
    mustOwn(app, operator)
    const typed = {
      keys: formField(ctx, 'keys'),
      logoutUri: formField(ctx, 'logout_uri'),
      demands: formFields(ctx, 'demand'),
    }
    const checked = checkChoices(typed, { ...app.further, ...app }, plans)
    if (checked.kind === 'bad')
      return invalid(ctx, formPage(app, operator, typed, checked.problems))
    await applications.choose(app, checked.choices, operator.actor)
    return `${operator.address(pages.application)}?done=saved`
  })
}
