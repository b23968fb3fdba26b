import type Router from 'koa-router'

import { furtherPage } from '../../../views/admin-application-further.ts'
import { seeOther, sendPage } from '../../platform/http/page.ts'
import { formField, formFields } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import type { Application } from '../applications/application-lists.ts'
import {
  type ChoiceProblems,
  checkChoices,
  type FurtherChoices,
  type TypedChoices,
} from '../applications/further-choices.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import { applicationOf } from './application-page.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'
import type { AdminParts } from './parts.ts'

/** What an operator chooses for an application of the further plans; there is nothing while none is on. */
export function furtherRoutes(operatorPages: OperatorPages, parts: AdminParts): Router {
  const router = makeRouter()
  const { applications, furtherPlans } = parts

  router.get(
    pages.applicationSecurity,
    operatorPages.whereOn.page(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      sendForm(ctx, { operator, app, typed: typedOf(app.further), problems: {} }, parts)
    }),
  )
  router.post(
    pages.applicationSecurity,
    operatorPages.whereOn.form(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      const typed = {
        keys: formField(ctx, 'keys'),
        logoutUri: formField(ctx, 'logout_uri'),
        demands: formFields(ctx, 'demand'),
      }
      const before = { ...app.further, authMethod: app.authMethod }
      const checked = checkChoices(typed, before, furtherPlans)
      if (checked.kind === 'bad') {
        return sendForm(ctx, { operator, app, typed, problems: checked.problems }, parts)
      }
      await applications.choose(app, checked.choices, operator.actor)
      seeOther(ctx, `${operator.address(pages.application, { client: app.clientId })}?done=saved`)
    }),
  )
  return router
}

function typedOf(choices: FurtherChoices): TypedChoices {
  return {
    keys: choices.jwks ?? choices.jwksUri ?? '',
    logoutUri: choices.logoutUri ?? '',
    demands: [
      ...(choices.pushesRequests ? ['pushed_requests'] : []),
      ...(choices.bindsTokens ? ['bound_tokens'] : []),
      ...(choices.logoutSessionRequired ? ['logout_session'] : []),
    ],
  }
}

interface Form {
  readonly operator: Operator
  readonly app: Application
  readonly typed: TypedChoices
  readonly problems: ChoiceProblems
}

function sendForm(
  ctx: PageContext,
  { operator, app, typed, problems }: Form,
  { furtherPlans: plans }: Pick<AdminParts, 'furtherPlans'>,
): void {
  if (Object.keys(problems).length > 0) ctx.status = 422
  const page = furtherPage({
    area: operator.area,
    name: app.name,
    action: operator.address(pages.applicationSecurity, { client: app.clientId }),
    cancelHref: operator.address(pages.application, { client: app.clientId }),
    on: {
      keys: plans.privateKeyJwt && app.authMethod !== 'none',
      pushedRequests: plans.pushedAuthorizationRequests,
      boundTokens: plans.dpop,
      logout: plans.backChannelLogout,
    },
    typed,
    problems,
  })
  sendPage(ctx, page)
}
