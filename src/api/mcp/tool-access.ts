import { scopeNames } from '../../directory/scopes/catalogue.ts'
import {
  type BearerToken,
  demandOneScope,
  demandScopes,
  type Verdict,
} from '../../resource/resource-server/verdict.ts'
import type { Tool, ToolAccess, ToolAudience } from './tool.ts'

/** What a client is told to ask for where it acts for an audience. */
export type ScopesFor = (audience: ToolAudience) => readonly string[]

/** Who may call a tool with these arguments. */
export function accessTo({ access, accessFor }: Tool, values: unknown): ToolAccess {
  return accessFor?.(values) ?? access
}

/** The scopes that a caller without a token is told to ask for. */
export function scopesNeeded(access: ToolAccess, asked: ScopesFor): readonly string[] {
  switch (access.kind) {
    case 'public':
      return []
    case 'token':
      return access.asked
    case 'scopes':
      return access.needed
    case 'audience':
      return asked(access.audience)
  }
}

/** The verdict on what needs a token, of the verdict on the caller's token. */
export function judgeAccess(access: ToolAccess, verdict: Verdict, asked: ScopesFor): Verdict {
  if (access.kind === 'scopes') return demandScopes(verdict, access.needed)
  return access.kind === 'audience'
    ? demandOneScope(verdict, scopeNames(access.audience), asked(access.audience))
    : verdict
}

/** Whether a caller may use a tool; a scope includes no other, as the catalogue reads. */
export function isOpen(access: ToolAccess, caller: BearerToken | undefined): boolean {
  return (
    access.kind === 'public' ||
    judgeAccess(access, verdictOn(caller), scopeNames).kind === 'granted'
  )
}

/** The verdict on a caller who was let in. */
export function verdictOn(caller: BearerToken | undefined): Verdict {
  return caller ? { kind: 'granted', token: caller } : { kind: 'anonymous' }
}
