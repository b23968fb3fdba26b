import { z } from 'zod'

import {
  catalogue,
  findScope,
  MEMBER_READ,
  OPENID,
  scopeNames,
  writeScope,
} from '../../directory/scopes/catalogue.ts'
import type { AccessToken } from '../../oauth/token/tokens.ts'
import { paths } from '../../platform/http/paths.ts'
import {
  defineTool,
  signedInCaller,
  type ToolAccess,
  type ToolAudience,
  ToolProblem,
} from './tool.ts'

const audiences = ['member', 'operator'] as const satisfies readonly ToolAudience[]

/** The areas that have a write scope. */
const areas = catalogue
  .filter(({ audience, access }) => audience === 'operator' && access === 'write')
  .map(({ name }) => name.slice(0, name.indexOf(':')))

const anyToken = { kind: 'token', asked: scopeNames('identity') } as const satisfies ToolAccess

/**
 * The tool that starts a sign-in. Some clients sign in only after a rejected call, but public tools need no sign-in. So
 * a call of this tool is rejected until the token gives the access that the arguments request.
 */
export const signInTool = defineTool({
  name: 'sign_in',
  title: 'Sign in',
  description:
    'Starts the sign-in, or requests missing scopes, through a challenge that the client follows. If no scope ' +
    'is missing, returns the signed-in person, the site and the next step.',
  access: anyToken,
  accessFor: requestedAccess,
  takes: z.strictObject({
    as: z
      .enum(audiences)
      .optional()
      .describe(
        'The person on whose behalf you act. member: a person with courses, purchases and notifications. ' +
          'operator: a person who runs a site. Omit this argument to sign in for identity only.',
      ),
    change: z
      .string()
      .refine((name) => areas.includes(name), `must be one of ${areas.join(', ')}`)
      .optional()
      .describe('For an operator: an area to change, such as courses or posts.'),
  }),
  async run({ change }, call) {
    if (!call.caller && change !== undefined) {
      throw new ToolProblem(
        'The argument change is for operators. Call sign_in with as: "operator" and the area.',
      )
    }
    const caller = signedInCaller(call)
    const { siteId, roles } = caller
    const site =
      siteId !== undefined && maySeeSite(caller)
        ? await call.parts.publicCourses.findSiteById(siteId)
        : undefined
    return {
      ...whoIs(caller),
      site: site ? { id: site.id, slug: site.slug, name: site.name, roles: [...roles] } : null,
      nextStep: nextStepOf(caller),
    }
  },
})

/** Returns the access that a call requires. Invalid arguments require none, so the call fails without a sign-in. */
function requestedAccess(values: unknown): ToolAccess {
  const { as, change } = (values ?? {}) as { as?: unknown; change?: unknown }
  const audience = audiences.find((known) => known === as)
  if (change !== undefined && change !== null) {
    const area = areas.find((name) => name === change)
    return area && audience !== 'member'
      ? { kind: 'scopes', needed: [writeScope(area)] }
      : { kind: 'public' }
  }
  if (audience) return { kind: 'audience', audience }
  return as === undefined || as === null ? anyToken : { kind: 'public' }
}

/** Describes the client and the person. Shows no more about the person than UserInfo and the Member API (design 15). */
function whoIs({ clientId, scopes, person }: AccessToken) {
  const has = (...anyOf: string[]) => anyOf.some((scope) => scopes.includes(scope))
  return {
    clientId,
    scopes: [...scopes].sort(),
    person: {
      id: has(OPENID, MEMBER_READ) ? person.id : null,
      name: has('profile', MEMBER_READ) ? person.name : null,
      email: has('email', MEMBER_READ) ? person.email : null,
    },
  }
}

/** Whether a client with this token may see its site: with `profile`, `account:read` or any operator scope. */
function maySeeSite({ scopes }: AccessToken): boolean {
  return scopes.includes('profile') || scopes.includes(MEMBER_READ) || opens({ scopes }, 'operator')
}

function opens({ scopes }: Pick<AccessToken, 'scopes'>, audience: ToolAudience): boolean {
  return [...scopes].some((scope) => findScope(scope)?.audience === audience)
}

function nextStepOf(caller: AccessToken): string {
  if (opens(caller, 'member')) {
    return 'List the tools again: the list now includes the tools for members, such as list_enrolled_courses.'
  }
  return opens(caller, 'operator')
    ? 'List the tools again: the list now includes the operator tools that your scopes allow. To request write access, ' +
        'call sign_in with change and the area, such as courses or posts.'
    : 'This token gives access only to the public tools. Call sign_in with as: "member" for purchases at a site, ' +
        `or with as: "operator" to run one; or connect to ${paths.mcpMember} or ${paths.mcpAdmin}.`
}
