import { randomUUID } from 'node:crypto'

import {
  makeApplicationStore,
  newResourceServer,
} from '../../src/pages/applications/application-store.ts'
import type { RunningService } from './gatehouse.ts'

export async function registerResourceServer({ service }: RunningService, siteId: string) {
  const actor = { personId: 'per_amir', requestId: 'a-test', now: Date.now() }
  const store = makeApplicationStore(service.stores.database)
  const made = await store.create(siteId, newResourceServer(`Proxy ${randomUUID()}`), actor)
  if (typeof made === 'string') throw new Error('the site has too many resource servers')
  const { clientId, secret = '' } = made
  return { clientId, secret }
}
