import { approvalsPage } from '../../../views/admin-approvals.ts'
import { sensitiveOperations } from '../../directory/scopes/sensitive-operations.ts'
import { invalid } from '../../platform/http/page.ts'
import { formField, formFields } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import {
  decidePendingChanges,
  listPendingChanges,
  readApprovalPolicy,
  setApprovalPolicy,
} from '../../school/changes/approvals.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminParts } from './admin-parts.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'

/**
 * Registers the page on which operators approve changes that their assistants request (design 37), and the form for the
 * site's policy. Operators see and approve only the changes that their own assistants request. To approve a sensitive
 * change, they need a recent sign-in. Only owners may change the policy.
 */
export function approvalRoutes(operatorPages: OperatorPages, parts: AdminParts): void {
  const { database, findClientName, now } = parts
  const show = async (
    { site, address, session }: Operator,
    query: URLSearchParams,
    isUndecided = false,
  ) => {
    const client = query.get('client') ?? undefined
    // After a new sign-in, only the changes that the person had ticked are ticked again.
    const ticked = query.getAll('change')
    const person = { siteId: site.id, personId: session.person.id, now: now() }
    const changes = (await listPendingChanges(database, person, client)).map(async (change) => ({
      ...change,
      isTicked: !change.isApproved && (ticked.length === 0 || ticked.includes(change.id)),
      clientName: (await findClientName(change.clientId)) ?? change.clientId,
    }))
    return approvalsPage({
      changes: await Promise.all(changes),
      client,
      policyAction: site.roles.includes('owner') ? address(pages.approvalPolicy) : undefined,
      policy: await readApprovalPolicy(database, site.id),
      isUndecided,
    })
  }
  operatorPages.page(pages.approvals, async (operator, ctx) => {
    return await show(operator, new URLSearchParams(ctx.querystring))
  })
  const needsFresh = async ({ site, session }: Operator, ctx: PageContext) => {
    if (chosenDecision(ctx) === 'reject') return false
    const ids = formFields(ctx, 'change')
    const person = { siteId: site.id, personId: session.person.id, now: now() }
    const changes = await listPendingChanges(database, person, undefined)
    return changes.some(
      ({ id, operation }) => ids.includes(id) && sensitiveOperations.has(operation),
    )
  }
  const queryOf = (ctx: PageContext, given: readonly [name: string, value: string][]) => {
    const client = formField(ctx, 'client')
    return new URLSearchParams(client === '' ? [...given] : [['client', client], ...given])
  }
  const addressAfterSignIn = ({ address }: Operator, ctx: PageContext) => {
    const ticked = formFields(ctx, 'change').map((id): [string, string] => ['change', id])
    return `${address(pages.approvals)}?${queryOf(ctx, ticked)}`
  }
  const decide = async (operator: Operator, ctx: PageContext) => {
    const { site, actor, address } = operator
    const decision = chosenDecision(ctx)
    const chosen = { ids: formFields(ctx, 'change'), isApproved: decision === 'approve' }
    const count = await decidePendingChanges(database, { ...actor, siteId: site.id }, chosen)
    if (count === 0) return invalid(ctx, await show(operator, queryOf(ctx, []), true))
    return `${address(pages.approvals)}?${queryOf(ctx, [['done', decision]])}`
  }
  operatorPages.freshForm(pages.approvals, addressAfterSignIn, decide, needsFresh)
  const { ofOwners } = operatorPages
  ofOwners.freshForm(pages.approvalPolicy, pages.approvals, async (operator, ctx) => {
    const { site, actor, address } = operator
    const covers = (['every', 'never'] as const).find((each) => each === formField(ctx, 'covers'))
    const exemptsIntegrations = formField(ctx, 'exempt') === 'yes'
    const policy = { covers: covers ?? 'destructive', exemptsIntegrations } as const
    await setApprovalPolicy(database, { ...actor, siteId: site.id }, policy)
    return `${address(pages.approvals)}?done=saved`
  })
}

function chosenDecision(ctx: PageContext): 'approve' | 'reject' {
  return formField(ctx, 'decision') === 'approve' ? 'approve' : 'reject'
}
