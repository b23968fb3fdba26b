import {
  type MemberView,
  memberPage,
  peoplePage,
  stopMemberPage,
} from '../../../views/admin-people.ts'
import { text } from '../../../views/text.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { noticeOf } from '../../platform/http/page.ts'
import { formField, formFields } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { endMemberAccess } from '../../school/members/site-roles.ts'
import { filterOf } from '../relying-party/list-pages.ts'
import { OWN_CLIENT_ID } from '../relying-party/sign-in.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminParts } from './admin-parts.ts'
import { askAdminApi, type Problem } from './ask-admin-api.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'

const APPS_SHOWN_MAX = 50

const LIST = `query ($search: String, $role: SiteRole, $after: String) {
  members(first: 20, search: $search, role: $role, after: $after) {
    totalCount pageInfo { hasNextPage endCursor }
    nodes { id name email memberSince roles { role } }
  }
  invitations(first: 50) { nodes { id email name roles expiresAt } }
}`

interface Listed {
  readonly members: {
    readonly totalCount: number
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
    readonly nodes: readonly FoundMember[]
  }
  readonly invitations: {
    readonly nodes: readonly (Readonly<Record<'id' | 'email', string>> & {
      readonly name: string | null
      readonly roles: readonly string[]
      readonly expiresAt: string
    })[]
  }
}

interface FoundMember extends Readonly<Record<'id' | 'name' | 'email' | 'memberSince', string>> {
  readonly roles: readonly { readonly role: string }[]
}

/** Registers the pages for a site's people: the list, invitations, and each person. */
export function peopleRoutes(operatorPages: OperatorPages, parts: AdminParts): void {
  const { executeAdmin } = parts.api.admin
  const list = async (operator: Operator, ctx: PageContext, problem?: Problem) => {
    const { area, address } = operator
    const asked = questionOf(ctx)
    const { data } = await askAdminApi<Listed>(executeAdmin, operator, LIST, asked)
    // The cursor or the search is invalid.
    if (!data) return address(pages.members)
    const { search = '', role = '' } = asked
    const kept = new URLSearchParams({ search, role })
    const { hasNextPage, endCursor } = data.members.pageInfo
    return peoplePage({
      area,
      search,
      role,
      total: data.members.totalCount,
      people: data.members.nodes.map((member) => memberView(member, address)),
      invitations: data.invitations.nodes.map((invitation) => ({
        ...invitation,
        name: invitation.name ?? undefined,
        expiresAt: Date.parse(invitation.expiresAt),
      })),
      action: address(pages.members),
      inviteAction: address(pages.invitations),
      typed: typedOf(ctx),
      problem,
      pager: {
        nextHref: hasNextPage
          ? `${address(pages.members)}?${kept}&${new URLSearchParams({ after: endCursor ?? '' })}`
          : undefined,
        firstHref: asked.after === undefined ? undefined : `${address(pages.members)}?${kept}`,
      },
      done: noticeOf(ctx, {
        invited: text('adminPeople.done.invited'),
        withdrawn: text('adminPeople.done.withdrawn'),
        removed: text('adminPeople.done.removed'),
      }),
    })
  }
  operatorPages.page(pages.members, (operator, ctx) => list(operator, ctx))
  operatorPages.freshForm(pages.invitations, pages.members, async (operator, ctx) => {
    const what = formField(ctx, 'what')
    const document = invitationDocuments.get(what)
    const { email, name } = typedOf(ctx)
    const invitation = { email, name: name || null, roles: rolesOf(ctx) }
    const variables = document ? { id: formField(ctx, 'id') } : invitation
    const { problem } = await askAdminApi(executeAdmin, operator, document ?? INVITE, variables)
    if (problem) return await list(operator, ctx, problem)
    return `${operator.address(pages.members)}?done=${what === 'withdraw' ? 'withdrawn' : 'invited'}`
  })
  memberRoutes(operatorPages, parts)
}

const INVITE = `mutation ($email: String!, $name: String, $roles: [SiteRole!]!) {
  inviteMember(input: { email: $email, name: $name, roles: $roles }) { id }
}`

const invitationDocuments: ReadonlyMap<string, string> = new Map([
  ['resend', 'mutation ($id: ID!) { resendInvitation(id: $id) { id } }'],
  ['withdraw', 'mutation ($id: ID!) { withdrawInvitation(id: $id) { deletedId } }'],
])

const typedOf = (ctx: PageContext) => ({
  email: formField(ctx, 'email'),
  name: formField(ctx, 'name'),
  roles: formFields(ctx, 'role'),
})

const rolesOf = (ctx: PageContext) => typedOf(ctx).roles.map((role) => role.toUpperCase())

/** Reads the search, the role and the cursor from the query. Ignores invalid values. */
function questionOf(ctx: PageContext) {
  const role = filterOf(ctx, 'role')
  return {
    search: filterOf(ctx, 'search') || undefined,
    role: roleNames.has(role) ? role : undefined,
    after: filterOf(ctx, 'after') || undefined,
  }
}

const roleNames: ReadonlySet<string> = new Set(['OWNER', 'ADMIN', 'LECTURER', 'STUDENT'])

function memberView(
  { id, name, email, memberSince, roles }: FoundMember,
  address: Operator['address'],
): MemberView {
  return {
    name,
    email,
    since: Date.parse(memberSince),
    roles: roles.map(({ role }) => role),
    href: address(pages.member, { person: id }),
  }
}

type FoundOne = { readonly member: FoundMember | null }

const ONE = `query ($id: ID!) {
  member(id: $id) { id name email memberSince roles { role } }
}`

const changes = {
  roles: `mutation ($id: ID!, $roles: [SiteRole!]!) { setMemberRoles(input: { id: $id, roles: $roles }) { id } }`,
  remove: 'mutation ($id: ID!) { removeMember(id: $id) { deletedId } }',
  recovery: 'mutation ($id: ID!) { sendPasswordRecovery(id: $id) { id } }',
}

/** Registers the page of a person, and the forms that change roles, send a recovery e-mail, and end access. */
function memberRoutes(operatorPages: OperatorPages, { api, database, grantLists }: AdminParts) {
  const { executeAdmin } = api.admin
  const find = async (operator: Operator, ctx: PageContext) => {
    const id = ctx.params['person'] ?? ''
    const { data } = await askAdminApi<FoundOne>(executeAdmin, operator, ONE, { id })
    if (!data?.member) throw nothingHere()
    return memberView(data.member, operator.address)
  }
  const show = async (operator: Operator, ctx: PageContext, problem?: Problem) => {
    const { area, site, address } = operator
    const id = ctx.params['person'] ?? ''
    const apps = await grantLists.listApps(id, { first: APPS_SHOWN_MAX, after: undefined }, site.id)
    return memberPage({
      area,
      member: await find(operator, ctx),
      apps: apps.rows.map(({ clientName, lastUsedAt }) => ({ name: clientName, lastUsedAt })),
      problem: problem?.text,
      backHref: address(pages.members),
      action: ctx.path.replace(/\/(roles|recovery)$/, ''),
      done: noticeOf(ctx, {
        roles: text('adminPeople.done.roles'),
        recovery: text('adminPeople.done.recovery'),
        ended: text('adminPeople.done.ended'),
      }),
    })
  }
  const submit = async (operator: Operator, ctx: PageContext, change: keyof typeof changes) =>
    await askAdminApi(executeAdmin, operator, changes[change], {
      id: ctx.params['person'],
      ...(change === 'roles' && { roles: rolesOf(ctx) }),
    })
  operatorPages.page(pages.member, (operator, ctx) => show(operator, ctx))
  for (const change of ['roles', 'recovery'] as const) {
    const pattern = change === 'roles' ? pages.memberRoles : pages.memberRecovery
    operatorPages.freshForm(pattern, pages.member, async (operator, ctx) => {
      const { problem } = await submit(operator, ctx, change)
      return problem
        ? await show(operator, ctx, problem)
        : `${operator.address(pages.member)}?done=${change}`
    })
  }
  for (const what of ['remove', 'end-access'] as const) {
    const pattern = what === 'remove' ? pages.removeMember : pages.endMemberAccess
    operatorPages.page(pattern, async (operator, ctx) => {
      const { name } = await find(operator, ctx)
      const { area, address } = operator
      const form = { action: ctx.path, cancelHref: address(pages.member) }
      return stopMemberPage({ area, what, name, ...form })
    })
    operatorPages.freshForm(pattern, pages.member, async (operator, ctx) => {
      await find(operator, ctx)
      if (what === 'end-access') {
        const actor = { ...operator.actor, siteId: operator.site.id, clientId: OWN_CLIENT_ID }
        await endMemberAccess(database, actor, ctx.params['person'] ?? '')
        return `${operator.address(pages.member)}?done=ended`
      }
      const { problem } = await submit(operator, ctx, 'remove')
      return problem
        ? await show(operator, ctx, problem)
        : `${operator.address(pages.members)}?done=removed`
    })
  }
}
