import type { Database } from '../store/database.ts'
import { type Access, type AccessQuestion, findAccess } from './access.ts'
import { makeGrantStore } from './grant-store.ts'
import { type GrantUsage, makeGrantUsage } from './grant-usage.ts'

export interface GrantPorts {
  readonly database: Database
  readonly integrations: readonly { readonly client_id: string }[]
  /** Whether clients of this origin are admitted at all, which a configuration can take back. */
  readonly admitsOrigin: (clientId: string) => boolean
  readonly now: () => number
}

/** What people allowed, while it is used. */
export interface Grants {
  /** May this grant still be used? */
  findAccess(question: AccessQuestion): Promise<Access>
  readonly usage: GrantUsage
  /** Removes what expired. */
  prune(): Promise<void>
}

export function makeGrants({ database, integrations, admitsOrigin, now }: GrantPorts): Grants {
  const clientIds = new Set(integrations.map(({ client_id }) => client_id))
  return {
    async findAccess(question) {
      if (admitsOrigin(question.clientId)) return await findAccess(database, question, clientIds)
      return { kind: 'lost', reason: 'the client is disabled' }
    },
    usage: makeGrantUsage(database, now),
    prune: makeGrantStore(database, now).prune,
  }
}
