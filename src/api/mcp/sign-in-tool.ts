import { z } from 'zod'

import {
  findScope,
  MEMBER_READ,
  OPENID,
  scopeNames,
  writeScope,
} from '../../directory/scopes/catalogue.ts'
import type { AccessToken } from '../../oauth/token/tokens.ts'
import { paths } from '../../platform/http/paths.ts'
import { operatorTools } from './operator-tools.ts'
import {
  defineTool,
  signedInCaller,
  type Tool,
  type ToolAccess,
  type ToolAudience,
  ToolProblem,
} from './tool.ts'
import { canGetChanges } from './tool-access.ts'

const audiences = ['member', 'operator'] as const satisfies readonly ToolAudience[]

/** The areas that tools can change, in alphabetical order. */
export const changeableAreas: readonly string[] = [
  ...new Set(
    operatorTools
      .flatMap(({ access }) => (access.kind === 'scopes' ? access.needed : []))
      .filter((name) => findScope(name)?.access === 'write')
      .map((name) => name.slice(0, name.indexOf(':'))),
  ),
].sort()

/** Returns the areas whose write scopes the token lacks; none if `canGetChanges` is false. */
export function areasToGain(caller: AccessToken | undefined): readonly string[] {
  if (!canGetChanges(caller)) return []
  return changeableAreas.filter((area) => !caller?.scopes.includes(writeScope(area)))
}

const anyToken = { kind: 'token', asked: scopeNames('identity') } as const satisfies ToolAccess

const signIn = defineTool({
  name: 'sign_in',
  title: 'Sign in',
  description:
    'Starts the sign-in, or requests missing scopes, through a challenge that the client follows. If no scope ' +
    'is missing, returns the signed-in person, the site and the next step.',
  access: anyToken,
  takes: z.strictObject({
    as: z
      .enum(audiences)
      .optional()
      .describe(
        'Who you act for. member: a person with courses, purchases and notifications. ' +
          'operator: a person who runs a site. Omit this argument to sign in for identity only.',
      ),
    change: z
      .array(z.enum(changeableAreas))
      .optional()
      .describe(
        'For an operator: all areas that your task changes. The sign-in then also grants write access to these areas.',
      ),
  }),
  async run({ change }, call) {
    if (!call.caller && change !== undefined) {
      throw new ToolProblem(
        'The argument "change" is for operators only. Omit it, or call sign_in with as: "operator".',
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

/**
 * The tool that starts a sign-in. Some clients sign in only after a rejected call, but public tools need no sign-in. So
 * calls to this tool are rejected until the token gives the access that the arguments request.
 */
export const signInTool: Tool = {
  ...signIn,
  accessFor: requestedAccess,
  input(caller) {
    const input = signIn.input()
    if (canGetChanges(caller)) return input
    const { change: _, ...properties } = input['properties'] as Readonly<Record<string, unknown>>
    return { ...input, properties }
  },
}

/** Returns the access that a call requires. A call with invalid arguments requires none, so it fails at once. */
function requestedAccess(values: unknown): ToolAccess {
  const { as, change } = (values ?? {}) as { as?: unknown; change?: unknown }
  const audience = audiences.find((known) => known === as)
  if (change !== undefined && change !== null) {
    const isKnown = Array.isArray(change) && change.every((area) => changeableAreas.includes(area))
    return isKnown && audience !== 'member'
      ? { kind: 'audience', audience: 'operator', also: change.map(writeScope) }
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

/** Whether a client may see the site of its token. Needs `profile`, `account:read` or any operator scope. */
function maySeeSite({ scopes }: AccessToken): boolean {
  return scopes.includes('profile') || scopes.includes(MEMBER_READ) || opens({ scopes }, 'operator')
}

function opens({ scopes }: Pick<AccessToken, 'scopes'>, audience: ToolAudience): boolean {
  return [...scopes].some((scope) => findScope(scope)?.audience === audience)
}

/** Advice in case the host does not fetch the list of tools again after a sign-in. */
const RECONNECT =
  'If a tool is missing from your list, ask the person to reconnect this server or to start a new session.'

function nextStepOf(caller: AccessToken): string {
  if (opens(caller, 'member')) {
    return `List the tools again: the list now includes the tools for members, such as list_enrolled_courses. ${RECONNECT}`
  }
  const gained = areasToGain(caller)
  const more =
    gained.length > 0
      ? ` To change more, call sign_in with "change" set to areas from this list: ${gained.join(', ')}.`
      : ''
  return opens(caller, 'operator')
    ? `List the tools again: the list now includes the operator tools that your scopes allow. ${RECONNECT}${more}`
    : 'This token gives access only to the public tools. For purchases at a site, call sign_in with as: "member" or ' +
        `connect to ${paths.mcpMember}. To run a site, call sign_in with as: "operator" or connect to ${paths.mcpAdmin}.`
}
