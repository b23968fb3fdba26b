import { memberPage, peoplePage, siteRoles } from '../../../views/admin-people.ts'
import { confirmPage } from '../../../views/area.ts'
import { html } from '../../../views/html.ts'
import { text } from '../../../views/text.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { invalid } from '../../platform/http/page.ts'
import { formField, formFields } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import type { SiteRole } from '../../platform/store/schema.ts'
import { listInvitations, readOffer } from '../../school/members/invitations.ts'
import { listPeople, type SitePerson } from '../../school/members/people-list.ts'
import {
  endMemberAccess,
  findMember,
  listHeldRoles,
  removeMember,
  setMemberRoles,
} from '../../school/members/site-roles.ts'
import { filterOf } from '../relying-party/list-pages.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminParts } from './admin-parts.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'
import { callerAtPage, type Problem, tryChange } from './page-changes.ts'

const APPS_SHOWN_MAX = 50
const INVITATIONS_SHOWN_MAX = 50

/** Registers the pages for a site's people: the list, invitations, and each person. */
export function peopleRoutes(operatorPages: OperatorPages, parts: AdminParts): void {
  const { database, listPages, now, api } = parts
  const { invitations, runInTurn } = api.admin
  const list = async (operator: Operator, ctx: PageContext, problem?: Problem) => {
    const { site, address } = operator
    const search = filterOf(ctx, 'search')
    const role = siteRoles.find((each) => each === filterOf(ctx, 'role').toLowerCase())
    const shown = { search, role: role ?? '' }
    const kept = new URLSearchParams(shown)
    // After a rejected invitation, the list is shown at the path of the invitation form.
    const place = { path: address(pages.members), query: ctx.query }
    const people = listPeople(database, { siteId: site.id, search, role })
    const found = await people.page(listPages.requestOf(place, kept))
    const pending = listInvitations(database, { siteId: site.id, nowMs: now() })
    const invited = await pending.page({ first: INVITATIONS_SHOWN_MAX, after: undefined })
    return peoplePage({
      ...shown,
      total: await runInTurn(`counts of ${site.id}`, people.count, `members of the page ${kept}`),
      people: await viewsOf(found.rows, operator, parts),
      invitations: invited.rows.map(({ data, ...invitation }) => ({
        ...readOffer(data),
        ...invitation,
      })),
      action: address(pages.members),
      inviteAction: address(pages.invitations),
      typed: typedOf(ctx),
      problem,
      pager: listPages.pagerOf(place, found, kept),
    })
  }
  operatorPages.page(pages.members, (operator, ctx) => list(operator, ctx))
  operatorPages.freshForm(pages.invitations, pages.members, async (operator, ctx) => {
    const [what, id, actor] = [formField(ctx, 'what'), formField(ctx, 'id'), callerAtPage(operator)]
    const { email, name } = typedOf(ctx)
    const change = async () => {
      if (what === 'resend') return await invitations.resend(database, actor, id)
      if (what === 'withdraw') return await invitations.withdraw(database, actor, id)
      const invitation = { email, name: name || null, roles: rolesOf(ctx) }
      return await invitations.invite(database, actor, invitation)
    }
    const problem = await tryChange(change)
    if (problem) return invalid(ctx, await list(operator, ctx, problem))
    return `${operator.address(pages.members)}?done=${what === 'withdraw' ? 'withdrawn' : 'invited'}`
  })
  memberRoutes(operatorPages, parts)
}

const typedOf = (ctx: PageContext) => ({
  email: formField(ctx, 'email'),
  name: formField(ctx, 'name'),
  roles: formFields(ctx, 'role'),
})

/** Returns the chosen roles. Ignores unknown names. */
function rolesOf(ctx: PageContext): SiteRole[] {
  return siteRoles.filter((role) => formFields(ctx, 'role').includes(role))
}

async function viewsOf(
  people: readonly SitePerson[],
  { site, address }: Operator,
  { database }: Pick<AdminParts, 'database'>,
) {
  // Include an empty id, because PostgreSQL rejects an empty list.
  const ids = ['', ...people.map(({ id }) => id)]
  const held = await listHeldRoles(database.kysely, ids, site.id)
  return people.map(({ id, name, email }) => {
    const roles = held.get(id) ?? []
    return {
      ...{ name, email, since: roles[0]?.since ?? 0 },
      roles: roles.map(({ role }) => role),
      href: address(pages.member, { person: id }),
    }
  })
}

/** Registers the page of a person, and the forms that change roles, send a recovery e-mail, and end access. */
function memberRoutes(operatorPages: OperatorPages, parts: AdminParts): void {
  const { api, database, grantLists } = parts
  const find = async (operator: Operator, { params }: PageContext) => {
    const { kysely } = database
    const person = await findMember(kysely, operator.site.id, { id: params['person'] ?? '' })
    const [view] = person ? await viewsOf([person], operator, parts) : []
    if (!view) throw nothingHere()
    return view
  }
  const show = async (operator: Operator, ctx: PageContext, problem?: Problem) => {
    const { site, address } = operator
    const id = ctx.params['person'] ?? ''
    const apps = await grantLists.listApps(id, { first: APPS_SHOWN_MAX, after: undefined }, site.id)
    return memberPage({
      member: await find(operator, ctx),
      apps: apps.rows.map(({ clientName, lastUsedAt }) => ({ name: clientName, lastUsedAt })),
      problem: problem?.text,
      backHref: address(pages.members),
      action: address(pages.member),
    })
  }
  /** Declares a form about a person. If the change is refused, the page of the person says why. */
  const declare = (
    pattern: string,
    [shownAt, done]: readonly [string, string],
    change: (actor: ReturnType<typeof callerAtPage>, id: string, ctx: PageContext) => Promise<void>,
  ) =>
    operatorPages.freshForm(pattern, pages.member, async (operator, ctx) => {
      const id = ctx.params['person'] ?? ''
      const problem = await tryChange(async () => await change(callerAtPage(operator), id, ctx))
      return problem
        ? invalid(ctx, await show(operator, ctx, problem))
        : `${operator.address(shownAt)}?done=${done}`
    })
  operatorPages.page(pages.member, (operator, ctx) => show(operator, ctx))
  declare(pages.memberRoles, [pages.member, 'roles'], async (actor, id, ctx) =>
    setMemberRoles(database, actor, { id, roles: rolesOf(ctx) }),
  )
  declare(pages.memberRecovery, [pages.member, 'recovery'], async (actor, id) =>
    api.admin.invitations.sendRecovery(database, actor, id),
  )
  declare(pages.removeMember, [pages.members, 'removed'], async (actor, id) =>
    removeMember(database, actor, id),
  )
  declare(pages.endMemberAccess, [pages.member, 'ended'], async (actor, id) =>
    endMemberAccess(database, actor, id),
  )
  for (const what of ['remove', 'end-access'] as const) {
    const pattern = what === 'remove' ? pages.removeMember : pages.endMemberAccess
    operatorPages.page(pattern, async (operator, ctx) => {
      const name = html`<bdi>${(await find(operator, ctx)).name}</bdi>`
      const kind = what === 'remove' ? 'remove' : 'end'
      return confirmPage({
        id: `${what}-page`,
        title: text(`adminPeople.${kind}Title`, { name }),
        effect: text(`adminPeople.${kind}Text`),
        confirm: text(what === 'remove' ? 'word.remove' : 'adminPeople.end'),
        cancelHref: operator.address(pages.member),
      })
    })
  }
}
