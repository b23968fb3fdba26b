import { sha256 } from '../../platform/store/digest.ts'
import type { StateAdapter } from '../../platform/store/oauth-state.ts'
import type { PageSession } from '../relying-party/page-session.ts'
import type { Seals } from '../relying-party/pending-sign-in.ts'

/**
 * A secret on its way to the one page that shows it. Between the form that made it and that page it
 * lies sealed in the state store for a moment, so that loading the page again neither shows it twice
 * nor makes another one.
 */
export interface NewSecrets {
  keep(session: PageSession, clientId: string, secret: string): Promise<void>
  /** The secret, the first time that this session asks for it. */
  take(session: PageSession, clientId: string): Promise<string | undefined>
}

const KEPT_SECONDS = 120
const LABEL = 'a new client secret'

/** @param state the records of the model `NewSecret` */
export function makeNewSecrets(
  state: Pick<StateAdapter, 'upsert' | 'find' | 'destroy' | 'consumeOnce'>,
  seals: Seals,
): NewSecrets {
  const recordId = ({ sessionId }: PageSession, clientId: string) =>
    sha256(`${sessionId} ${clientId}`)
  return {
    async keep(session, clientId, secret) {
      const sealed = seals.seal(secret, LABEL)
      await state.upsert(recordId(session, clientId), { sealed }, KEPT_SECONDS)
    },

    async take(session, clientId) {
      const id = recordId(session, clientId)
      const record = await state.find(id)
      if (!record) return undefined
      const consumption = await state.consumeOnce(id)
      await state.destroy(id)
      return consumption?.first ? seals.open(String(record['sealed']), LABEL) : undefined
    },
  }
}
