/**
 * `node bench/peers/main.ts` compares the service with other authorization servers, in the standard operations on
 * PostgreSQL. It names each peer that cannot run on this machine, with the reason.
 */

import { writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { freePort } from '../../test/support/programs.ts'
import { type Cores, describeMachine, divideCores } from '../cores.ts'
import { operationNames, operations } from '../operations.ts'
import { listOf, positive } from '../options.ts'
import { CONNECTIONS, makeSupply } from '../prepared-tokens.ts'
import { showProgress } from '../progress.ts'
import { type Measured, measureRounds } from '../rounds.ts'
import { newPlace, type Stores, startOurs, startStores } from '../servers.ts'
import { describeVersions } from '../versions.ts'
import { betterAuth } from './better-auth.ts'
import { hydra } from './hydra.ts'
import { keycloak } from './keycloak.ts'
import { makePeersPage, type PeerResults, peerSections } from './page.ts'
import type { Peer } from './peer.ts'

const peers: readonly Peer[] = [betterAuth, keycloak, hydra]
const OURS = 'Gatehouse'
const page = join(import.meta.dirname, '../../docs/reference/peers.md')

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      ...{ only: { type: 'string' }, rounds: { type: 'string' }, seconds: { type: 'string' } },
      write: { type: 'boolean' },
    } as const,
  })
  const names = listOf(
    values.only,
    peers.map(({ name }) => name.toLowerCase()),
  )
  const rounds = positive('rounds', values.rounds, 3)
  const seconds = positive('seconds', values.seconds, 1)
  const cores = divideCores()
  await using stores = await startStores()
  await using opened = new AsyncDisposableStack()
  const skipped = new Map<string, string>()
  const servers: Measured[] = [opened.use(await startService(stores, cores))]
  for (const peer of peers.filter(({ name }) => names.includes(name.toLowerCase()))) {
    const started = await startPeer(peer, stores, cores)
    if (typeof started === 'string') skipped.set(peer.name, started)
    else servers.push(opened.use(started))
  }
  const standard = operationNames.filter((name) => operations[name].standard)
  const progress = showProgress('operations', (rounds + 1) * standard.length * servers.length)
  const busy = loadavg()[0]?.toFixed(1)
  const figures = await measureRounds(
    servers,
    { operations: standard, rounds, seconds, warmUpSeconds: 2 * seconds },
    progress,
  )
  progress.end()
  const results: PeerResults = {
    date: new Date().toISOString().slice(0, 10),
    machine: describeMachine(cores),
    versions: `${await describeVersions(stores)}, ${peers.map(({ name, version }) => `${name} ${version}`).join(', ')}`,
    manner: `${rounds} rounds of ${seconds} s per operation, at ${CONNECTIONS} connections and at one; load average before the run ${busy}`,
    ...{ figures, skipped },
  }
  process.stdout.write(peerSections(results).join('\n'))
  for (const [name, why] of skipped) process.stdout.write(`\n${name} ${why}\n`)
  if (values.write) writeFileSync(page, makePeersPage(results))
}

async function startService(stores: Stores, cores: Cores | undefined) {
  const server = await startOurs(await newPlace('postgres', stores), { cores })
  const { url } = server
  return Object.assign(server, {
    name: OURS,
    kind: 'ours' as const,
    supply: await makeSupply(url, 'ours'),
  })
}

/** Installs and starts a peer. Returns the reason if it cannot run on this machine. */
async function startPeer(
  peer: Peer,
  stores: Stores,
  cores: Cores | undefined,
): Promise<string | (Measured & AsyncDisposable)> {
  const { name } = peer
  process.stderr.write(`${name} ${peer.version}: installing and starting\n`)
  const installed = await peer.install(new AbortController().signal)
  if (installed.kind === 'missing') return installed.why
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const databaseUrl = await stores.postgres.createDatabase('nothing')
  try {
    const started = await peer.start(installed.folder, { port, url, databaseUrl, cores })
    return Object.assign(started, { name, url, kind: 'peer' as const })
  } catch (error) {
    const [line = ''] = String(error).split('\n')
    return `could not be started: ${line.slice(0, 200)}`
  }
}

await main()
// Modules that are shared with the tests keep this process alive.
process.exit()
