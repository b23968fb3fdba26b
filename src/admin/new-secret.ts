import type { PageSession } from '../relying-party/page-session.ts'
import { sha256 } from '../store/digest.ts'
import type { StateAdapter } from '../store/state.ts'

/**
 * A secret on its way to the one page that shows it. Between the form that made it and that page it
 * lies sealed in the state store for a moment, so that loading the page again neither shows it twice
 * nor makes another one.
 */
export interface NewSecrets {
  keep(session: PageSession, clientId: string, secret: string): Promise<void>
  /** The secret, the first time that this visitor asks for it. */
  take(session: PageSession, clientId: string): Promise<string | undefined>
}

export interface NewSecretDependencies {
  /** Records of the model `NewSecret`. */
  readonly records: Pick<StateAdapter, 'upsert' | 'find' | 'destroy' | 'consumeOnce'>
  readonly seal: (plain: string) => string
  readonly open: (sealed: string) => string
}

const KEPT_SECONDS = 120

export function makeNewSecrets(dependencies: NewSecretDependencies): NewSecrets {
  const { records, seal, open } = dependencies
  const recordId = ({ sessionId }: PageSession, clientId: string) =>
    sha256(`${sessionId} ${clientId}`)
  return {
    async keep(session, clientId, secret) {
      await records.upsert(recordId(session, clientId), { sealed: seal(secret) }, KEPT_SECONDS)
    },

    async take(session, clientId) {
      const id = recordId(session, clientId)
      const record = await records.find(id)
      if (!record) return undefined
      const consumption = await records.consumeOnce(id, '')
      await records.destroy(id)
      return consumption?.first ? open(String(record['sealed'])) : undefined
    },
  }
}
