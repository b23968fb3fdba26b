import type { TimeOrder } from '../../platform/store/keyset.ts'
import type { SiteRole } from '../../platform/store/schema.ts'
import {
  addMember,
  type MemberAddition,
  removeMember,
  setMemberRoles,
} from '../../school/members/change-members.ts'
import { findMember, type HeldRole, listHeldRoles } from '../../school/members/members.ts'
import { listPeople, type SitePerson } from '../../school/members/people-list.ts'
import type { PageArguments } from '../graphql/page-arguments.ts'
import { type AdminContext, type AdminResolver, actorOf } from './context.ts'
import { siteList } from './lists.ts'

/** A role, as the enumeration of the schema writes it. */
type RoleName = Uppercase<SiteRole>

interface MemberListArguments extends PageArguments {
  readonly search?: string | null
  readonly role?: RoleName | null
  readonly sort?: TimeOrder | null
}

interface NamedRoles {
  readonly roles: readonly RoleName[]
}

/** The people of the site and their roles: `members:read` and `members:write`. */
export const memberResolvers = {
  Query: {
    members: async (_source, args: MemberListArguments, context) => {
      const search = args.search ?? undefined
      const role = args.role == null ? undefined : roleOf(args.role)
      const { sort } = args
      const question = { siteId: context.caller.siteId, search, role, sort }
      const list = listPeople(context.parts.database, question)
      return await siteList({ named: ['members', search, role, sort], args, context, list })
    },
    member: async (_source, { id }: { id: string }, context) => await personWith(context, id),
  } satisfies Record<string, AdminResolver<undefined, never>>,
  Mutation: {
    addMember: async (
      _source,
      { input }: { input: Omit<MemberAddition, 'roles'> & NamedRoles },
      context,
    ) => {
      const addition = { ...input, roles: input.roles.map(roleOf) }
      return rolesAfter(
        context,
        await addMember(context.parts.database, actorOf(context), addition),
      )
    },
    setMemberRoles: async (
      _source,
      { input: { id, roles } }: { input: NamedRoles & { readonly id: string } },
      context,
    ) => {
      const change = { id: id, roles: roles.map(roleOf) }
      await setMemberRoles(context.parts.database, actorOf(context), change)
      return rolesAfter(context, id)
    },
    removeMember: async (_source, { id }: { id: string }, context) => {
      await removeMember(context.parts.database, actorOf(context), id)
      return { deletedId: id }
    },
  } satisfies Record<string, AdminResolver<undefined, never>>,
  Member: {
    memberSince: async ({ id }, _args, context) => (await rolesOf(context, id))[0]?.since,
    roles: async ({ id }, _args, context) => await rolesOf(context, id),
  } satisfies Record<string, AdminResolver<SitePerson>>,
  HeldRole: {
    role: ({ role }) => role.toUpperCase(),
  } satisfies Record<string, AdminResolver<HeldRole>>,
}

/** The schema has these names in capital letters, and no others. */
function roleOf(name: RoleName): SiteRole {
  return name.toLowerCase() as SiteRole
}

/** Asked for all people of a page at once. */
export async function rolesOf({ caller, parts, oneOfMany }: AdminContext, personId: string) {
  const ofPeople = async (ids: readonly string[]) =>
    await listHeldRoles(parts.database.kysely, caller.siteId, ids)
  return (await oneOfMany('roles', ofPeople, personId)) ?? []
}

/** A person who holds a role at the site of the caller, or that one where it is named. */
export async function personWith({ caller, parts }: AdminContext, id: string, role?: SiteRole) {
  const wanted = role === undefined ? { id } : { id, role }
  return await findMember(parts.database.kysely, caller.siteId, wanted)
}

function rolesAfter(context: AdminContext, id: string) {
  return { id, roles: async () => await rolesOf(context, id) }
}
