import type Router from 'koa-router'

import { assistantsPage, ownAssistantsPage } from '../../../views/admin-assistants.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { isLoopbackUrl } from '../../platform/http/loopback.ts'
import { noticeOf, seeOther, sendPage } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { addressOf, pages, paths } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { listAssistantApplications } from '../applications/application-lists.ts'
import { operatorSteps } from '../assistants/connect-steps.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import { admitAssistant } from './admit-assistant.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'
import type { AdminParts } from './parts.ts'

/** Which assistants the members of a site may connect, and how an operator connects one. */
export function assistantRoutes(operatorPages: OperatorPages, parts: AdminParts): Router {
  const router = makeRouter()
  const { assistants, baseUrl, discovery } = parts

  router.get(
    pages.assistants,
    operatorPages.page(async (ctx, operator) => await showAssistants(ctx, { operator }, parts)),
  )
  router.post(
    pages.assistants,
    operatorPages.whereOn.form(async (ctx, operator) => {
      const assistant = assistants.find(({ id }) => id === formField(ctx, 'assistant'))
      if (!assistant) throw nothingHere()
      const typed = formField(ctx, 'callback').trim()
      const outcome = await admitAssistant({ assistant, typed, operator }, parts)
      if (typeof outcome === 'string') {
        return seeOther(ctx, `${operator.address(pages.assistants)}?done=${outcome}`)
      }
      ctx.status = 422
      const wrong = { id: assistant.id, typed, ...outcome }
      await showAssistants(ctx, { operator, wrong }, parts)
    }),
  )
  router.get(
    pages.ownAssistants,
    operatorPages.page(async (ctx, { area, site, address }) => {
      const url = baseUrl + paths.mcpAdmin
      const scopes = discovery.scopesOf('mcpAdmin')
      const page = ownAssistantsPage({
        area,
        siteName: site.name,
        address: url,
        assistants: assistants.map((assistant) => operatorSteps(assistant, { site, url, scopes })),
        local: isLoopbackUrl(baseUrl),
        reviewsHref: address(pages.documentClients),
        backHref: address(pages.assistants),
      })
      sendPage(ctx, page)
    }),
  )
  return router
}

/** What was wrong with one of the forms. */
interface Wrong {
  readonly id: string
  readonly typed: string
  /** What is wrong with the callback. */
  readonly callback?: string | undefined
  /** What is wrong with the whole. */
  readonly problem?: string | undefined
}

async function showAssistants(
  ctx: PageContext,
  { operator, wrong }: { readonly operator: Operator; readonly wrong?: Wrong },
  { database, assistants, baseUrl }: AdminParts,
): Promise<void> {
  const { area, site, address } = operator
  const on = site.mcpConnectionsOnSince !== undefined
  const made = await listAssistantApplications(database.kysely, site.id)
  const page = assistantsPage({
    area,
    siteName: site.name,
    switchOnAction: on ? undefined : address(pages.betaOn),
    assistants: assistants.map(({ id, name, where, ownCallback }) => {
      const application = made.find((each) => each.assistant === id)
      const mistaken = wrong?.id === id ? wrong : undefined
      return {
        ...{ id, name, where },
        application: application && {
          name: application.name,
          href: address(pages.application, { client: application.clientId }),
          disabled: application.disabled,
        },
        ownCallback: ownCallback?.find.replace('{url}', () => baseUrl + paths.mcpMember),
        typed: mistaken?.typed ?? '',
        problem: mistaken?.callback,
      }
    }),
    action: address(pages.assistants),
    memberAddress: baseUrl + addressOf(pages.connect, { site: site.slug }),
    ownHref: address(pages.ownAssistants),
    problem: wrong?.problem,
    done: noticeOf(ctx, doneSentences),
  })
  sendPage(ctx, page)
}

const doneSentences = {
  made: 'The assistant was added. Give your members the address below.',
  there: 'The assistant is there already. Nothing was changed.',
  added: 'The callback was added. It holds from now on.',
}
