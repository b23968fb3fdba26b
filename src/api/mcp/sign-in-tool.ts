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
import { callerOf, defineTool, type ToolAccess, type ToolAudience, ToolProblem } from './tool.ts'

const audiences = ['member', 'operator'] as const satisfies readonly ToolAudience[]

/** What operators may be let to change by a tool. */
const areas = catalogue
  .filter(({ audience, access }) => audience === 'operator' && access === 'write')
  .map(({ name }) => name.slice(0, name.indexOf(':')))

const anyToken = { kind: 'token', asked: scopeNames('identity') } as const satisfies ToolAccess

/**
 * Some clients start a sign-in only when a call is refused. Without a token they see public tools
 * only, none of which is ever refused; this one is, with scopes that lead somewhere once the agent has
 * said whom it acts for.
 */
export const signInTool = defineTool({
  name: 'sign_in',
  title: 'Sign in',
  description:
    'Starts the sign-in, or asks for what the token lacks, by a challenge that the client ' +
    'follows. Say for whom you act. With enough it says who is signed in, at which site, and what to do next.',
  access: anyToken,
  accessFor: accessForWish,
  takes: z.strictObject({
    as: z
      .enum(audiences)
      .optional()
      .describe(
        'member: somebody who asks for their own courses, purchases and notifications. operator: ' +
          'somebody who runs a site. Left out, the sign-in only says who it is.',
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
        'change is for operators: call sign_in with as: "operator" and the area.',
      )
    }
    const caller = callerOf(call)
    const { siteId, roles } = caller
    const site =
      siteId !== undefined && knowsSite(caller)
        ? await call.parts.publicCourses.findSiteById(siteId)
        : undefined
    return {
      ...whoIs(caller),
      site: site ? { id: site.id, slug: site.slug, name: site.name, roles: [...roles] } : null,
      nextStep: nextStepOf(caller),
    }
  },
})

/** What a sign-in asks for; arguments that do not fit are told so before anybody signs in. */
function accessForWish(values: unknown): ToolAccess {
  const { as, change } = (values ?? {}) as { as?: unknown; change?: unknown }
  const audience = audienceIn(values)
  if (change !== undefined && change !== null) {
    const area = areas.find((name) => name === change)
    return area && audience !== 'member'
      ? { kind: 'scopes', needed: [writeScope(area)] }
      : { kind: 'public' }
  }
  if (audience) return { kind: 'audience', audience }
  return as === undefined || as === null ? anyToken : { kind: 'public' }
}

function audienceIn(values: unknown): ToolAudience | undefined {
  const { as } = (values ?? {}) as { as?: unknown }
  return audiences.find((audience) => audience === as)
}

/** Tells no more than UserInfo would for the same scopes (design 15). */
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

/** An operator's token shows the site by everything that it opens. */
function knowsSite({ scopes }: AccessToken): boolean {
  return scopes.includes('profile') || scopes.includes(MEMBER_READ) || opens({ scopes }, 'operator')
}

function opens({ scopes }: Pick<AccessToken, 'scopes'>, audience: ToolAudience): boolean {
  return [...scopes].some((scope) => findScope(scope)?.audience === audience)
}

function nextStepOf(caller: AccessToken): string {
  if (opens(caller, 'member')) {
    return 'List the tools again: those of members are there, such as list_enrolled_courses.'
  }
  return opens(caller, 'operator')
    ? 'List the tools again: those of operators are there, as far as the scopes go. To change something that ' +
        'the token only reads, call sign_in with change and the area, such as courses or posts.'
    : 'This token opens the public tools only. Call sign_in with as: "member" for what the person has at a site, ' +
        `or with as: "operator" for a site that they run; or connect to ${paths.mcpMember} or ${paths.mcpAdmin}.`
}
