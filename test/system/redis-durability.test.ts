import { openRedis } from '../../src/platform/store/redis.ts'
import {
  judgeDurability,
  readDurability,
  warnOfLoss,
} from '../../src/platform/store/redis-durability.ts'
import { startRedis, startRedisCluster } from '../support/redis.ts'
import { sharedProgram } from '../support/skipped.ts'

const appending = ['--appendonly', 'yes']
const always = [...appending, '--appendfsync', 'always']
const evicting = [...always, '--maxmemory', '50mb', '--maxmemory-policy', 'allkeys-lru']
const withoutConfig = '--user default on nopass ~* &* +@all -config'
const WRITES = 7

describe('what a Redis can lose', () => {
  const redis = sharedProgram('redis-server')

  for (const [options, kind, sentence] of [
    [always, 'ok', /keeps all acknowledged writes, even after a power failure/],
    [appending, 'note', /can lose up to 2 s of acknowledged writes if its machine fails/],
    [[...appending, '--appendfsync', 'no'], 'note', /can lose about 30 s of/],
    [[...appending, ...withoutConfig.split(' ')], 'note', /is unknown \(CONFIG is forbidden\)/],
    [[], 'note', /snapshots only \(appendonly no\).*7 changes/],
    [evicting, 'wrong', /evicts .*maxmemory-policy allkeys-lru/],
  ] as const) {
    it(`is found and judged at a server with ${options.join(' ') || 'the defaults'}`, async () => {
      await using server = await startRedis(redis(), options)
      const client = await openRedis({ url: server.url }, { answerWithinMs: 5_000 })
      for (let write = 0; write < WRITES; write += 1) await client.incr('a')
      const remarks = (await readDurability(client)).flatMap(judgeDurability)
      const lines: unknown[] = []
      await warnOfLoss(client, { warn: (line: unknown) => void lines.push(line) })
      client.disconnect()
      expect(remarks.find((remark) => sentence.test(remark.sentence))?.kind).to.equal(kind)
      const bad = remarks.map((remark) => remark.kind).filter((each) => each !== 'ok')
      expect(bad).to.deep.equal(kind === 'ok' ? [] : [kind])
      expect(lines.join('\n')).to.match(kind === 'ok' ? /^$/ : sentence)
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
