import { obtain } from '../test/support/client.ts'
import type { Variables } from '../test/support/process.ts'
import type { Cores } from './cores.ts'
import type { OperationName } from './operations.ts'
import { type Options, type Storage, storages } from './options.ts'
import { type Chain, CONNECTIONS, type Copies, makeSupply } from './prepared-tokens.ts'
import { type Progress, showProgress } from './progress.ts'
import { loadOf, type Measured, median, turns } from './rounds.ts'
import { accessTokenOf, refreshTokenOf } from './sample.ts'
import { type Filled, fill, fillSteps } from './seed.ts'
import { newPlace, type Stores, startOurs } from './servers.ts'

/** The operations whose cost must not depend on the number of grants. */
export const growing = ['userinfo', 'introspection', 'refresh'] as const satisfies OperationName[]
type Growing = (typeof growing)[number]

/** The figures of one storage at one size. */
export interface Grown {
  readonly storage: Storage
  readonly grants: number
  readonly bytes: Filled['bytes']
  /** The processor time of a request with a token of a random grant. */
  readonly microseconds: Readonly<Record<Growing, number>>
}

/** For each storage, fills one service to each of the sizes, and then measures these services in turn. */
export async function measureGrowth(
  stores: Stores,
  options: Options,
  cores: Cores | undefined,
): Promise<Grown[]> {
  const grown: Grown[] = []
  for (const [index, storage] of options.storages.entries()) {
    const sizes = options.growthSizes
    const steps = sizes.reduce((sum, size) => sum + fillSteps(size), 0)
    const measuring = (options.rounds + 1) * growing.length * sizes.length
    const progress = showProgress(`growth, ${storages[storage]}`, steps + measuring)
    await using opened = new AsyncDisposableStack()
    const servers: FilledServer[] = []
    for (const [position, size] of sizes.entries()) {
      const place = await newPlace(storage, stores, 1 + index * sizes.length + position)
      const accessToken = await signInOnce(place, cores)
      const filled = await fill(place, size, { accessToken, progress })
      const { url, pid } = opened.use(await startOurs(place, { cores }))
      const supply = await makeSupply(url, 'ours', copiesOf(filled, size))
      const name = `${storages[storage]}, ${size} grants`
      servers.push({ size, filled, measured: { name, kind: 'ours', url, pid, supply } })
    }
    const found = await measureSizes(servers, options, progress)
    progress.end()
    for (const { size, filled, measured } of servers) {
      const microseconds = found(measured)
      grown.push({ storage, grants: size, bytes: filled.bytes, microseconds })
    }
  }
  return grown
}

interface FilledServer {
  readonly size: number
  readonly filled: Filled
  readonly measured: Measured
}

/** Signs in once, which creates one grant, and stops the service. Returns the access token. */
async function signInOnce(place: Variables, cores: Cores | undefined): Promise<string> {
  await using service = await startOurs(place, { cores })
  const { access_token } = await obtain(service.url)
  await service.stop()
  return access_token
}

/** Returns the tokens of random copies. Remembers the current refresh token of each family that a connection used. */
function copiesOf({ tokens }: Filled, size: number): Copies {
  const begun = new Map<number, Chain>()
  return {
    accessToken: () => accessTokenOf(tokens, 1 + Math.floor(Math.random() * (size - 1))),
    chainOf(connection) {
      const perConnection = Math.floor((size - 1) / CONNECTIONS)
      const i = 1 + connection + CONNECTIONS * Math.floor(Math.random() * perConnection)
      const chain = begun.get(i) ?? { refreshToken: refreshTokenOf(tokens, i) }
      begun.set(i, chain)
      return chain
    },
  }
}

/** Measures servers in turn. Returns a function that looks up the medians of a server. */
async function measureSizes(
  servers: readonly FilledServer[],
  { rounds, growthSeconds: full }: Options,
  progress: Progress,
): Promise<(server: Measured) => Grown['microseconds']> {
  const samples: { server: Measured; name: Growing; microseconds: number }[] = []
  const stretch = { connections: CONNECTIONS, requests: 0 }
  const measured = servers.map((server) => server.measured)
  for (const { round, name, server } of turns(rounds, growing, measured)) {
    progress.step(`${name}, ${server.name}`)
    const load = await loadOf(server, name, { ...stretch, seconds: round === 0 ? full / 2 : full })
    if (round > 0) samples.push({ server, name, microseconds: load.processorMicroseconds })
  }
  return (server) => {
    const medianOf = (name: Growing) =>
      median(
        samples
          .filter((sample) => sample.server === server && sample.name === name)
          .map(({ microseconds }) => microseconds),
      )
    return {
      userinfo: medianOf('userinfo'),
      introspection: medianOf('introspection'),
      refresh: medianOf('refresh'),
    }
  }
}
