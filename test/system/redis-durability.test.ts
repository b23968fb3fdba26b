import { openRedis } from '../../src/platform/store/redis.ts'
import {
  type Durability,
  judgeDurability,
  readDurability,
  warnOfLoss,
} from '../../src/platform/store/redis-durability.ts'
import { startRedis, startRedisCluster } from '../support/redis.ts'
import { sharedProgram } from '../support/skipped.ts'

const safe: Durability = {
  address: 'redis:6379',
  appends: true,
  appendFsync: 'always',
  unsavedChanges: 0,
  evictsBy: undefined,
}

const losesSome = /can lose up to 2 s of acknowledged writes if its machine fails/
const table: readonly [Partial<Durability>, 'ok' | 'note' | 'wrong', RegExp][] = [
  [{}, 'ok', /keeps all acknowledged writes, even after a power failure/],
  [{ appendFsync: 'everysec' }, 'note', losesSome],
  [{ appendFsync: 'no' }, 'note', /can lose about 30 s of/],
  [{ appendFsync: undefined }, 'note', /is unknown \(CONFIG is forbidden\)/],
  [{ appends: false, unsavedChanges: 7 }, 'note', /snapshots only \(appendonly no\).*7 changes/],
  [{ evictsBy: 'allkeys-lru' }, 'wrong', /evicts .*maxmemory-policy allkeys-lru/],
]

describe('what a Redis can lose', () => {
  const redis = sharedProgram('redis-server')

  for (const [change, kind, sentence] of table) {
    it(`is judged from ${JSON.stringify(change)}`, () => {
      const remarks = judgeDurability({ ...safe, ...change })
      expect(remarks.find((remark) => sentence.test(remark.sentence))?.kind).to.equal(kind)
      const bad = remarks.map((remark) => remark.kind).filter((each) => each !== 'ok')
      expect(bad).to.deep.equal(kind === 'ok' ? [] : [kind])
    })
  }

  const appending = ['--appendonly', 'yes']
  const always = [...appending, '--appendfsync', 'always']
  const withoutConfig = '--user default on nopass ~* &* +@all -config'
  const evicting = [...always, '--maxmemory', '50mb', '--maxmemory-policy', 'allkeys-lru']
  for (const [options, expected] of [
    [[], /snapshots only \(appendonly no\)/],
    [appending, /appendfsync everysec/],
    [always, /^$/],
    [evicting, /maxmemory-policy allkeys-lru/],
    [[...appending, ...withoutConfig.split(' ')], /CONFIG is forbidden/],
  ] as const) {
    it(`is found at a real server: ${options.join(' ')}`, async () => {
      await using server = await startRedis(redis(), options)
      const client = await openRedis({ url: server.url }, { answerWithinMs: 5_000 })
      const lines: unknown[] = []
      await warnOfLoss(client, { warn: (line: unknown) => void lines.push(line) })
      client.disconnect()
      expect(lines.join('\n')).to.match(expected)
    })
  }

  it('is found at each server of a cluster', async () => {
    await using cluster = await startRedisCluster(redis())
    const location = { clusterNodes: cluster.addresses }
    const client = await openRedis(location, { answerWithinMs: 5_000 })
    const found = await readDurability(client)
    client.disconnect()
    expect(found.map(({ address }) => address)).to.have.members(cluster.addresses)
    expect(found.map(({ appends }) => appends)).to.deep.equal([false, false, false])
  })
})
