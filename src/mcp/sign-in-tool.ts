import { z } from 'zod'

import type { BearerToken } from '../resource-server/verdict.ts'
import { findScope, MEMBER_READ, OPENID, scopeNames } from '../scopes/catalogue.ts'
import { callerOf, defineTool, type ToolAccess, type ToolAudience } from './tool.ts'

const audiences = ['member', 'operator'] as const satisfies readonly ToolAudience[]

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
    'Starts the sign-in, or asks for what the token lacks: the call is refused with an authorization ' +
    'challenge that the client follows. Say for whom you act. With a token that is enough it says who is ' +
    'signed in, at which site, what the token opens, and what to do next.',
  access: anyToken,
  accessFor: (values) => {
    const audience = audienceIn(values)
    return audience ? { kind: 'audience', audience } : anyToken
  },
  input: z.strictObject({
    as: z
      .enum(audiences)
      .optional()
      .describe(
        'member: somebody who asks for their own courses, purchases and notifications. operator: ' +
          'somebody who runs a site. Left out, the sign-in only says who it is.',
      ),
  }),
  output: z.strictObject({
    clientId: z.string(),
    scopes: z.array(z.string()).describe('What the token opens, in alphabetical order.'),
    person: z.strictObject({
      id: z.string().nullable(),
      name: z.string().nullable().describe('Null unless the token has the scope for it.'),
      email: z.string().nullable().describe('Null unless the token has the scope for it.'),
    }),
    site: z
      .strictObject({
        id: z.string(),
        slug: z.string(),
        name: z.string(),
        roles: z.array(z.string()),
      })
      .nullable()
      .describe('The site of the token; null without one, or without the scope for it.'),
    nextStep: z.string(),
  }),
  async run(_values, call) {
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

function audienceIn(values: unknown): ToolAudience | undefined {
  const { as } = (values ?? {}) as { as?: unknown }
  return audiences.find((audience) => audience === as)
}

/** Tells no more than UserInfo would for the same scopes (design 15). */
function whoIs({ clientId, scopes, person }: BearerToken) {
  const has = (...anyOf: string[]) => anyOf.some((scope) => scopes.has(scope))
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
function knowsSite({ scopes }: BearerToken): boolean {
  return scopes.has('profile') || scopes.has(MEMBER_READ) || opens({ scopes }, 'operator')
}

function opens({ scopes }: Pick<BearerToken, 'scopes'>, audience: ToolAudience): boolean {
  return [...scopes].some((scope) => findScope(scope)?.audience === audience)
}

function nextStepOf(caller: BearerToken): string {
  if (opens(caller, 'member')) {
    return 'List the tools again: those of members are there, such as list_enrolled_courses.'
  }
  return opens(caller, 'operator')
    ? 'List the tools again: those of operators are there, as far as the scopes go.'
    : 'This token opens the public tools only. Call sign_in with as: "member" for what the person has ' +
        'at a site, or with as: "operator" for a site that they run.'
}
