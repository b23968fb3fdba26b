import { section, table } from '../page.ts'
import { CONNECTIONS } from '../prepared-tokens.ts'
import type { Figures } from '../rounds.ts'

/** The results of a run. */
export interface PeerResults {
  readonly date: string
  readonly machine: string
  readonly versions: string
  readonly manner: string
  /** By server, the service first. */
  readonly figures: Figures
  /** Why peers are missing, by name. */
  readonly skipped: ReadonlyMap<string, string>
}

/** Renders docs/reference/peers.md. */
export function makePeersPage(results: PeerResults): string {
  return `# Beside other authorization servers

\`node bench/peers/main.ts --write\` generates this page. It installs each peer from its package registry into the cache
of the tests, and starts it and the service with PostgreSQL. Logs are discarded. Each server has 10 database connections
(Keycloak and Hydra 36, because with fewer, their requests wait for each other) and rotates refresh tokens. It signs with ES256
(Hydra with RS256, its default). Access tokens are opaque, except those of Keycloak, which are signed. The other tables
of [performance](performance.md) show more of the service.

- ${results.date}
- ${results.machine}
- ${results.versions}
- ${results.manner}. Each round measures every operation on all servers, in a different order each time. The figures are
  medians of the rounds. PostgreSQL does not wait for the disk.
${[...results.skipped].map(([name, why]) => `- Not measured: ${name}, because it ${why}\n`).join('')}
${peerSections(results).join('\n')}`
}

/** Renders the tables of the page. */
export function peerSections({ figures }: PeerResults): string[] {
  const [ours] = figures.values()
  return [
    section(
      'Processor time per operation',
      `User and system time of the server with its child processes in microseconds, at ${CONNECTIONS} connections. In parentheses: divided by the time of the service.`,
      table('µs', figures, (figure, name) => {
        const { processorMicroseconds: own = Number.NaN } = ours?.get(name) ?? {}
        const { processorMicroseconds } = figure
        const times =
          own === processorMicroseconds ? '' : ` (${(processorMicroseconds / own).toFixed(1)})`
        return `${processorMicroseconds.toFixed(0)}${times}`
      }),
    ),
    section(
      `At ${CONNECTIONS} connections`,
      'Requests per second, then the 50th and the 99th percentile of the response times in milliseconds.',
      table('req/s, p50/p99 ms', figures, ({ requestsPerSecond, p50Ms, p99Ms }) =>
        [requestsPerSecond.toFixed(0), `${p50Ms.toFixed(1)}/${p99Ms.toFixed(1)}`].join(', '),
      ),
    ),
    section(
      'At one connection',
      'The 50th and the 99th percentile of the response times.',
      table(
        'p50/p99 ms',
        figures,
        ({ aloneP50Ms, aloneP99Ms }) => `${aloneP50Ms.toFixed(1)}/${aloneP99Ms.toFixed(1)}`,
      ),
    ),
  ]
}
