import { approvalsPage } from '../../../views/admin-approvals.ts'
import { sensitiveOperations } from '../../directory/scopes/sensitive-operations.ts'
import { notAnOperator } from '../../platform/http/errors.ts'
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
 * site's policy. Operators see and approve only the changes that their own assistants request. A sensitive change needs
 * a recent sign-in. Only owners may change the policy.
 */
export function approvalRoutes(operatorPages: OperatorPages, parts: AdminParts): void {
  const { database, findClientName, now } = parts
  const show = async (
    { site, address, session }: Operator,
    client: string | undefined,
    isUndecided = false,
  ) => {
    const person = { siteId: site.id, personId: session.person.id, now: now() }
    const changes = (await listPendingChanges(database, person, client)).map(async (change) => ({
      ...change,
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
    const client = new URLSearchParams(ctx.querystring).get('client') ?? undefined
    return await show(operator, client)
  })
  const needsFresh = async ({ site, session }: Operator, ctx: PageContext) => {
    if (decisionOf(ctx) === 'reject') return false
    const ids = formFields(ctx, 'change')
    const person = { siteId: site.id, personId: session.person.id, now: now() }
    const changes = await listPendingChanges(database, person, undefined)
    return changes.some(
      ({ id, operation }) => ids.includes(id) && sensitiveOperations.has(operation),
    )
  }
  const addressOfList = ({ address }: Operator, ctx: PageContext, done = '') => {
    const given = Object.entries({ done, client: formField(ctx, 'client') })
    const query = new URLSearchParams(given.filter(([, value]) => value !== ''))
    return `${address(pages.approvals)}?${query}`
  }
  const decide = async (operator: Operator, ctx: PageContext) => {
    const { site, actor } = operator
    const decision = decisionOf(ctx)
    const chosen = { ids: formFields(ctx, 'change'), isApproved: decision === 'approve' }
    const count = await decidePendingChanges(database, { ...actor, siteId: site.id }, chosen)
    if (count > 0) return addressOfList(operator, ctx, decision)
    return await show(operator, formField(ctx, 'client') || undefined, true)
  }
  operatorPages.freshForm(pages.approvals, addressOfList, decide, needsFresh)
  operatorPages.freshForm(pages.approvalPolicy, pages.approvals, async (operator, ctx) => {
    const { site, actor, address } = operator
    if (!site.roles.includes('owner')) throw notAnOperator()
    const covers = (['every', 'never'] as const).find((each) => each === formField(ctx, 'covers'))
    const exemptsIntegrations = formField(ctx, 'exempt') === 'yes'
    const policy = { covers: covers ?? 'destructive', exemptsIntegrations } as const
    await setApprovalPolicy(database, { ...actor, siteId: site.id }, policy)
    return `${address(pages.approvals)}?done=saved`
  })
}

function decisionOf(ctx: PageContext): 'approve' | 'reject' {
  return formField(ctx, 'decision') === 'approve' ? 'approve' : 'reject'
}
