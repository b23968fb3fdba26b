import { approvalsPage } from '../../../views/admin-approvals.ts'
import { notAnOperator } from '../../platform/http/errors.ts'
import { formField, formFields } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import {
  decidePendingChanges,
  listPendingChanges,
  readApprovalPolicy,
  setApprovalPolicy,
} from '../../school/changes/approvals.ts'
import type { AdminParts } from './admin-parts.ts'
import type { OperatorPages } from './operator-pages.ts'

/**
 * Registers the page on which operators approve changes that their assistants request (design 37), and the form for the
 * site's policy. Operators see and approve only the changes that their own assistants request. Only owners may change
 * the policy.
 */
export function approvalRoutes(operatorPages: OperatorPages, parts: AdminParts): void {
  const { database, findClientName, now } = parts
  operatorPages.page(pages.approvals, async ({ site, address, session }, ctx) => {
    const client = new URLSearchParams(ctx.querystring).get('client') ?? undefined
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
    })
  })
  operatorPages.form(pages.approvals, async ({ site, actor, address }, ctx) => {
    const decision = formField(ctx, 'decision') === 'approve' ? 'approve' : 'reject'
    const chosen = { ids: formFields(ctx, 'change'), isApproved: decision === 'approve' }
    await decidePendingChanges(database, { ...actor, siteId: site.id }, chosen)
    const client = formField(ctx, 'client')
    const query = new URLSearchParams({ done: decision, ...(client !== '' && { client }) })
    return `${address(pages.approvals)}?${query}`
  })
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
