import { expect } from 'chai'

import { openRedis } from '../../src/platform/store/redis.ts'
import {
  type Durability,
  judgeDurability,
  lookAtDurability,
  warnOfLoss,
} from '../../src/platform/store/redis-durability.ts'
import { type RedisServer, startRedis, startRedisCluster } from '../support/redis.ts'
import { requireProgram } from '../support/skipped.ts'

const safe: Durability = {
  address: 'redis:6379',
  appends: true,
  appendFsync: 'always',
  unsavedChanges: 0,
  evictsBy: undefined,
}

const table: readonly [Partial<Durability>, 'ok' | 'note' | 'wrong', RegExp][] = [
  [{}, 'ok', /keeps all acknowledged writes, even after a power failure/],
  [{ appendFsync: 'everysec' }, 'note', /of up to 2 s if its machine fails/],
  [{ appendFsync: 'no' }, 'note', /of about 30 s/],
  [{ appendFsync: undefined }, 'note', /is unknown \(CONFIG is forbidden\)/],
  [{ appends: false, unsavedChanges: 7 }, 'note', /snapshots only \(appendonly no\).*7 changes/],
  [{ evictsBy: 'allkeys-lru' }, 'wrong', /evicts .*maxmemory-policy allkeys-lru/],
]

describe('what a Redis can lose', () => {
  for (const [change, kind, sentence] of table) {
    it(`is said of one with ${JSON.stringify(change)}`, () => {
      const remarks = judgeDurability({ ...safe, ...change })
      expect(remarks.find((remark) => sentence.test(remark.sentence))?.kind).to.equal(kind)
      const worst = kind === 'ok' ? [] : [kind]
      expect(
        remarks.filter((remark) => remark.kind !== 'ok').map((remark) => remark.kind),
      ).to.deep.equal(worst)
    })
  }

  async function said(redis: Pick<RedisServer, 'url'>): Promise<string> {
    const client = await openRedis({ url: redis.url }, { answerWithinMs: 5_000 })
    const lines: unknown[] = []
    await warnOfLoss(client, { warn: (line: unknown) => void lines.push(line) })
    client.disconnect()
    return lines.join('\n')
  }

  it('is seen of a real server: snapshots only, then an append-only file', async function () {
    const file = requireProgram(this, 'redis-server')
    await using snapshots = await startRedis(file)
    expect(await said(snapshots)).to.include('snapshots only (appendonly no)')
    await using appending = await startRedis(file, ['--appendonly', 'yes'])
    expect(await said(appending)).to.include('appendfsync everysec')
    await using always = await startRedis(file, ['--appendonly', 'yes', '--appendfsync', 'always'])
    expect(await said(always)).to.equal('')
    await using evicting = await startRedis(file, [
      ...['--appendonly', 'yes', '--appendfsync', 'always'],
      ...['--maxmemory', '50mb', '--maxmemory-policy', 'allkeys-lru'],
    ])
    expect(await said(evicting)).to.include('maxmemory-policy allkeys-lru')
  })

  it('is not known where a provider forbids CONFIG', async function () {
    await using redis = await startRedis(requireProgram(this, 'redis-server'), [
      '--appendonly',
      'yes',
    ])
    await redis.ask('ACL', 'SETUSER', 'default', '-config')
    expect(await said(redis)).to.include('CONFIG is forbidden')
  })

  it('is seen of each server of a cluster', async function () {
    await using cluster = await startRedisCluster(requireProgram(this, 'redis-server'))
    const clusterNodes = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`)
    const client = await openRedis({ clusterNodes }, { answerWithinMs: 5_000 })
    const found = await lookAtDurability(client)
    client.disconnect()
    expect(found.map(({ address }) => address).sort()).to.deep.equal(clusterNodes.sort())
    expect(found.map(({ appends }) => appends)).to.deep.equal([false, false, false])
  })
})
