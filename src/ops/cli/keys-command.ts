import type { Config } from '../../config/config.ts'
import {
  type KeyRow,
  listKeys,
  loadKeyRing,
  openKeys,
  rotateKeys,
} from '../../oauth/keys/key-rings.ts'
import type { Given } from './command-line.ts'
import { recordCommand, withDatabase } from './configured-stores.ts'
import { sealAgain } from './sealed-secrets.ts'

/** `keys list`: lists the published signing keys, without private key material. */
export async function listSigningKeys(config: Config): Promise<string> {
  return await withDatabase(config, 'reads', async (database, now) => {
    const keys = openKeys(config, { database, now }).signing
    const [tokens, upstreams] = [await listKeys(keys.tokens), await listKeys(keys.upstreams)]
    if (tokens.length === 0) return 'There are no signing keys yet; the first start creates them.'
    const lines = tokens.map(keyLine)
    if (upstreams.length === 0) return lines.join('\n')
    return [...lines, '', 'For the platform API:', ...upstreams.map(keyLine)].join('\n')
  })
}

/**
 * `keys rotate`: rotates the keys for id_tokens or the platform API. Records an audit event. If several root secrets
 * are configured, also re-encrypts all other stored secrets with the first root secret.
 */
export async function rotateSigningKeys(
  config: Config,
  { upstream, force = false }: Given,
): Promise<string> {
  return await withDatabase(config, 'writes', async (database, now) => {
    const use = upstream ? 'upstreams' : 'tokens'
    const dependencies = openKeys(config, { database, now }).signing[use]
    // Load the keys first, so a wrong secret causes an error before anything is changed.
    await loadKeyRing(dependencies)
    const kid = await rotateKeys(dependencies, force, async (transaction, signing) => {
      await recordCommand(transaction, now(), {
        action: 'signing_key.rotated',
        subject: { kind: 'signing_key', id: signing },
        after: { for: use, forced: force },
      })
    })
    if ((config.secrets?.length ?? 1) > 1) {
      await sealAgain(database.kysely, openKeys(config, { database, now }).secretRoot)
    }
    const { reloadSeconds, retiredKeepSeconds } = config.service.keys
    return (
      `${kid} is the new signing key. Running processes start using it within ${reloadSeconds} s. ` +
      `The previous key remains published for ${retiredKeepSeconds} s.`
    )
  })
}

const meanings = {
  current: 'is used for signing',
  next: 'is published, but is used only after the next rotation',
  retired: 'is no longer used, but is still published',
} as const satisfies Record<KeyRow['state'], string>

function keyLine({ kid, state, createdAt }: KeyRow): string {
  return `${kid}  ${state.padEnd(7)}  created ${new Date(createdAt).toISOString()}, ${meanings[state]}`
}
