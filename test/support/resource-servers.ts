import { registerResourceServer as register } from '../../src/pages/applications/register-resource-server.ts'
import type { RunningService } from './gatehouse.ts'

export interface Registered {
  readonly clientId: string
  readonly secret: string
}

/** Registers a resource server of a site, as its operator does on the page. */
export async function registerResourceServer(
  { service }: Pick<RunningService, 'service'>,
  siteId: string,
): Promise<Registered> {
  const actor = { personId: 'per_amir', requestId: 'a-test', now: Date.now() }
  const made = await register(service.stores.database, { siteId, name: 'A proxy' }, actor)
  if (made === 'full') throw new Error('the site has too many resource servers')
  return made
}
