import { obtain } from '../test/support/client.ts'
import type { ServiceProcess, Variables } from '../test/support/process.ts'
import type { Cores } from './cores.ts'
import type { OperationName } from './operations.ts'
import { type Options, type Storage, storages } from './options.ts'
import { type Progress, showProgress } from './progress.ts'
import { loadOf, type Measured, median, turns } from './rounds.ts'
import { accessTokenOf, refreshTokenOf } from './sample.ts'
import { type Filled, fill, fillSteps } from './seed.ts'
import { newPlace, type Stores, startOurs } from './servers.ts'
import { type Chain, CONNECTIONS, type Copies, makeSupply } from './supply.ts'

/** What is asked of the grants of a store, however many there are. */
export const growing = ['userinfo', 'introspection', 'refresh'] as const satisfies OperationName[]
type Growing = (typeof growing)[number]

/** One storage at one size. */
export interface Grown {
  readonly storage: Storage
  readonly grants: number
  readonly bytes: Filled['bytes']
  /** Processor time of one request over random grants. */
  readonly microseconds: Readonly<Record<Growing, number>>
}

/** Fills each storage to each size and measures the sizes of a storage side by side. */
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
      const filled = await fillPlace(place, size, { cores, progress })
      const service = opened.use(await startOurs(place, { cores }))
      servers.push({ size, filled, measured: await measuredOf(storage, { size, filled, service }) })
    }
    const found = await measureSizes(servers, options, progress)
    progress.end()
    grown.push(
      ...servers.map(({ size, filled: { bytes } }, position) => ({
        ...{ storage, grants: size, bytes },
        microseconds: found[position] ?? { userinfo: 0, introspection: 0, refresh: 0 },
      })),
    )
  }
  return grown
}

interface FilledServer {
  readonly size: number
  readonly filled: Filled
  readonly measured: Measured
}

/** A service signs one grant in, and is gone while the stores are filled. */
async function fillPlace(
  place: Variables,
  size: number,
  { cores, progress }: { cores: Cores | undefined; progress: Progress },
): Promise<Filled> {
  const accessToken = await signInOnce(place, cores)
  return await fill(place, size, { accessToken, progress })
}

async function signInOnce(place: Variables, cores: Cores | undefined): Promise<string> {
  await using service = await startOurs(place, { cores })
  const { access_token } = await obtain(service.url)
  await service.stop()
  return access_token
}

async function measuredOf(
  storage: Storage,
  {
    size,
    filled,
    service: { url, pid },
  }: { readonly size: number; readonly filled: Filled; readonly service: ServiceProcess },
): Promise<Measured> {
  const supply = await makeSupply(url, 'ours', copiesOf(filled, size))
  return { name: `${storages[storage]}, ${size} grants`, kind: 'ours', url, pid, supply }
}

/** A family that was refreshed goes on where it is; each connection has families of its own. */
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

async function measureSizes(
  servers: readonly FilledServer[],
  { rounds, growthSeconds: full }: Options,
  progress: Progress,
): Promise<Record<Growing, number>[]> {
  const samples = new Map(
    servers.map(({ measured }) => [
      measured,
      { userinfo: [] as number[], introspection: [] as number[], refresh: [] as number[] },
    ]),
  )
  const stretch = { connections: CONNECTIONS, requests: 0 }
  for (const { round, name, server } of turns(rounds, growing, [...samples.keys()])) {
    progress.step(`${name}, ${server.name}`)
    const load = await loadOf(server, name, { ...stretch, seconds: round === 0 ? full / 2 : full })
    if (round > 0) samples.get(server)?.[name].push(load.processorMicroseconds)
  }
  return [...samples.values()].map(({ userinfo, introspection, refresh }) => ({
    userinfo: median(userinfo),
    introspection: median(introspection),
    refresh: median(refresh),
  }))
}
