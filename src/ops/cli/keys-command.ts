import type { Config } from '../../config/config.ts'
import {
  type KeyRow,
  type KeyUse,
  listKeys,
  loadKeyRing,
  rotateKeys,
} from '../../oauth/keys/keys.ts'
import { keysOf, recordCommand, withDatabase } from './configured-stores.ts'

/** `keys list`: one line a key, and no private part of any. */
export async function listSigningKeys(config: Config): Promise<string> {
  return await withDatabase(config, async (database, now) => {
    const keys = keysOf(config, { database, now })
    const [tokens, upstreams] = [await listKeys(keys.tokens), await listKeys(keys.upstreams)]
    if (tokens.length === 0) return 'There are no signing keys yet; the first start makes them.'
    const lines = tokens.map(lineOf)
    if (upstreams.length === 0) return lines.join('\n')
    return [...lines, '', "For the platform's own API:", ...upstreams.map(lineOf)].join('\n')
  })
}

/** `keys rotate`: what `oauth/keys/keys.ts` does, written into the audit trail. */
export async function rotateSigningKeys(
  config: Config,
  { use, force }: { readonly use: KeyUse; readonly force: boolean },
): Promise<string> {
  return await withDatabase(config, async (database, now) => {
    const dependencies = keysOf(config, { database, now })[use]
    // It also shows that the secret is the right one before anything is changed.
    await loadKeyRing(dependencies)
    const kid = await rotateKeys(dependencies, {
      force,
      record: async (transaction, signing) =>
        await recordCommand(transaction, now(), {
          action: 'signing_key.rotated',
          subject: { kind: 'signing_key', id: signing },
          after: { for: use, forced: force },
        }),
    })
    const { reloadSeconds, retiredKeepSeconds } = config.service.keys
    return (
      `${kid} signs from now on; running processes follow within ${reloadSeconds} s. ` +
      `The key before it stays published for ${retiredKeepSeconds} s.`
    )
  })
}

const meanings = {
  current: 'signs',
  next: 'is published and signs after the next rotation',
  retired: 'signs no more and is still published',
} as const satisfies Record<KeyRow['state'], string>

function lineOf({ kid, state, createdAt }: KeyRow): string {
  return `${kid}  ${state.padEnd(7)}  made ${new Date(createdAt).toISOString()}, ${meanings[state]}`
}
