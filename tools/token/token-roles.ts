import { MEMBER_READ, MEMBER_WRITE, scopeNames } from '../../src/directory/scopes/catalogue.ts'

/** As whom `npm run token` signs in, and what it asks for unless it is told otherwise. */
export const tokenRoles = {
  member: {
    /** The demo's public member application. */
    clientId: 'northlight-notes',
    account: 'sam@northlight.example',
    scopes: [...scopeNames('identity'), MEMBER_READ, MEMBER_WRITE],
  },
  operator: {
    /** A client of an operator registers itself. */
    clientId: undefined,
    account: 'olivia@northlight.example',
    scopes: [...scopeNames('identity'), ...scopeNames('operator')],
  },
} as const satisfies Record<string, object>

export type TokenRole = keyof typeof tokenRoles

/** @throws with a sentence for any other word */
export function readTokenRole(word: string): TokenRole {
  if (word === 'member' || word === 'operator') return word
  throw new Error(`--as takes member or operator, not ${word}`)
}
