import { judgeGoals, timesAsCheap } from './goals.ts'
import { growing } from './growth.ts'
import { IMPORT_CONNECTIONS } from './imports.ts'
import { type OperationName, operations } from './operations.ts'
import { storages } from './options.ts'
import { CONNECTIONS } from './prepared-tokens.ts'
import { BARE, type Results } from './results.ts'
import type { Figure, Figures } from './rounds.ts'
import { kinds } from './sample.ts'
import { SIGN_IN_CONNECTIONS } from './sign-ins.ts'
import { watchedPart, workersPart } from './variants.ts'

/** A section of the page: a heading, a text and a table. */
interface Part {
  readonly title: string
  readonly text: string
  readonly rows: readonly (readonly string[])[]
}

/** Renders docs/reference/performance.md. */
export function makePage(results: Results): string {
  const intro = `# Performance

\`npm run bench -- --write\` generates this page. The benchmark starts new stores, the service (as \`npm start\` does,
with logging) and, for comparison, the *bare engine*: the same version of oidc-provider, in a separate process, with a
simple Redis adapter, constant clients and no log. The bare engine does less: it has no people, sites or roles, does not
check grants at each use of a token, does not detect parallel exchanges, and has neither audit trail nor limits.

- ${results.date}
- ${results.machine}
- ${results.versions}
- ${results.manner}. Each round measures every operation on all servers, in a different order each time. The figures are
  medians of the rounds. Of the stores, only SQLite waits for the disk.

\`test/system/round-trips.test.ts\` checks the numbers that do not depend on the machine. No test checks a duration.
`
  return [
    intro,
    ...partsOf(results).map(({ title, text, rows }) => section(title, text, rows)),
  ].join('\n')
}

export function section(title: string, text: string, rows: Part['rows']): string {
  return `## ${title}\n\n${text}${text && '\n\n'}${alignedTable(rows)}\n`
}

/** Renders the tables for a terminal. */
export function makeReport(results: Results): string {
  const parts = partsOf(results).map(({ title, rows }) => `\n${title}\n\n${alignedTable(rows)}\n`)
  return `${results.machine}\n${results.versions}\n${results.manner}\n${parts.join('')}`
}

function partsOf(results: Results): Part[] {
  const parts = [
    goalsPart(results),
    processorPart(results),
    ratePart(results),
    alonePart(results),
    signInPart(results),
    importPart(results),
    watchedPart(results.watched),
    workersPart(results.workers),
    countedPart(results),
    growthPart(results),
    bytesPart(results),
    processPart(results),
  ]
  return parts.filter(({ rows }) => rows.length > 1)
}

function goalsPart(results: Results): Part {
  const goals = judgeGoals(results)
  const met = goals.filter((goal) => goal.met).length
  return {
    title: 'Goals',
    text: `This run met ${met} of ${goals.length} goals. Of an exchange, the engine takes 23%, garbage collection 13%, Koa 11%, the ES256 signature 9%, Node.js 9%, and PostgreSQL with its client 10% (\`npm run bench -- --profile exchange\`). Of a change in the Admin API, PostgreSQL with its client takes 28%, Node.js 11%, garbage collection 8%, Koa 8%, Kysely 5%, and GraphQL 5%. Of a response with the key set, the log takes 8 µs, and security headers, limits and canonical paths 5; the bare engine has none of them. Two processes on one core need more than one, as do two services that share nothing ([decision 24](../decisions/0024-processor-time-of-a-request.md#consequences)).`,
    rows: [
      ['goal', 'target', 'result', ''],
      ...goals.map((goal) => [goal.what, goal.wanted, goal.found, goal.met ? 'met' : 'not met']),
    ],
  }
}

function processorPart({ figures }: Results): Part {
  const bare = figures.get(BARE)
  return {
    title: 'Processor time per operation',
    text: `User and system time of the server in microseconds, at ${CONNECTIONS} connections. In parentheses: the time of the bare engine divided by this time, so above 1, the service needs less.`,
    rows: table('µs', figures, (figure, name) => {
      const beside = bare?.get(name)
      const times =
        beside && figure !== beside ? ` (${timesAsCheap(figure, beside).toFixed(2)})` : ''
      return `${figure.processorMicroseconds.toFixed(0)}${times}`
    }),
  }
}

function ratePart({ figures }: Results): Part {
  return {
    title: `At ${CONNECTIONS} connections`,
    text: 'Requests per second, then the 50th and the 99th percentile of the response times in milliseconds, and the share of requests that failed, if any.',
    rows: table('req/s, p50/p99 ms', figures, (figure) => {
      const { requestsPerSecond, p50Ms, p99Ms, failedShare } = figure
      const failed = failedShare > 0 ? `, ${(failedShare * 100).toFixed(2)} % refused` : ''
      return `${requestsPerSecond.toFixed(0)}, ${p50Ms.toFixed(1)}/${p99Ms.toFixed(1)}${failed}`
    }),
  }
}

function alonePart({ figures }: Results): Part {
  const cell = ({ aloneP50Ms, aloneP99Ms }: Figure) =>
    `${aloneP50Ms.toFixed(1)}/${aloneP99Ms.toFixed(1)}`
  return {
    title: 'At one connection',
    text: 'The 50th and the 99th percentile of the response times. The last column is the size of a response of the service, including headers.',
    rows: table('p50/p99 ms', figures, cell, true),
  }
}

/** Creates a row for each operation of the first server, and a column for each server. */
export function table(
  unit: string,
  figures: Figures,
  cell: (figure: Figure, name: OperationName) => string,
  withBytes = false,
): string[][] {
  const [first = new Map<OperationName, Figure>()] = figures.values()
  const rows = [...first].map(([name, { answerBytes }]) => {
    const found = [...figures.values()].map((server) => server.get(name))
    const cells = found.map((figure) => (figure ? cell(figure, name) : ''))
    return [operations[name].title, ...cells, ...(withBytes ? [String(answerBytes)] : [])]
  })
  return [[unit, ...figures.keys(), ...(withBytes ? ['bytes'] : [])], ...rows]
}

function signInPart({ signIns }: Results): Part {
  return {
    title: 'While people sign in',
    text: `UserInfo at ${SIGN_IN_CONNECTIONS} connections: alone, and while a person signs in from eight browsers without pause. Each sign-in hashes a password.`,
    rows: [
      ['', 'p99 ms alone', 'p99 ms', 'UserInfo/s', 'sign-ins/s'],
      ...[...signIns].map(([storage, figure]) => [
        storages[storage],
        figure.p99AloneMs.toFixed(1),
        figure.p99Ms.toFixed(1),
        figure.requestsPerSecond.toFixed(0),
        figure.signInsPerSecond.toFixed(1),
      ]),
    ],
  }
}

function importPart({ imports }: Results): Part {
  return {
    title: 'During an import',
    text: `UserInfo at ${IMPORT_CONNECTIONS} connections: alone, and while a file with this many lines is imported. The lines are people, their purchases and their progress.`,
    rows: [
      ['', 'lines', 'lines/s', 'p99 ms alone', 'p99 ms', 'UserInfo/s'],
      ...[...imports].map(([storage, figure]) => [
        storages[storage],
        figure.lines.toLocaleString('en'),
        figure.linesPerSecond.toFixed(0),
        figure.p99AloneMs.toFixed(1),
        figure.p99Ms.toFixed(1),
        figure.requestsPerSecond.toFixed(0),
      ]),
    ],
  }
}

function countedPart({ counted }: Results): Part {
  return {
    title: 'Round trips',
    text: 'The calls of one request to PostgreSQL and Redis. SQL statements are counted at the driver. Redis itself counts commands, including those of scripts, and batches, which are what it reads at once. The last column is the number of calls that were made one after the other.',
    rows: [
      ['', 'SQL statements', 'Redis commands', 'Redis batches', 'in sequence'],
      ...Object.entries(counted ?? {}).map(([name, found]) => [
        name,
        ...[found.sql, found.redisCommands, found.redisBatches, found.deep].map(String),
      ]),
    ],
  }
}

function growthPart({ growth }: Results): Part {
  const rows = growth.map(({ storage, grants, microseconds }) => {
    const first = growth.find((other) => other.storage === storage)
    const cells = growing.map((name) => {
      const factor = microseconds[name] / (first?.microseconds[name] ?? Number.NaN)
      return `${microseconds[name].toFixed(0)} (${factor.toFixed(2)})`
    })
    return [storages[storage], grants.toLocaleString('en'), ...cells]
  })
  return {
    title: 'Growth',
    text: 'Processor time per operation in microseconds, with random grants of a database that contains this many; in parentheses, relative to the first size. Each grant belongs to a different person and has one token family.',
    rows: [['', 'grants', ...growing.map((name) => operations[name].title)], ...rows],
  }
}

function bytesPart({ growth }: Results): Part {
  const largest = Object.keys(storages).flatMap(
    (storage) => growth.findLast((grown) => grown.storage === storage) ?? [],
  )
  return {
    title: 'Storage',
    text: 'Bytes in the database, including indexes, for a person with one role, a grant with its scopes, and a token family, measured with the largest number of grants. Refreshing does not enlarge a family. Redis stores none of these.',
    rows: [
      ['', ...kinds],
      ...largest.map(({ storage, bytes }) => [
        storages[storage],
        ...kinds.map((kind) => bytes[kind].toFixed(0)),
      ]),
    ],
  }
}

function processPart({ starts, loadedMiB }: Results): Part {
  const names = [...new Set([...starts.keys(), ...loadedMiB.keys()])]
  return {
    title: 'Start and memory',
    text: 'Time from the start of the process to its first response, on one core; resident memory when idle, and after all load above. The service contains the engine, so the bare engine always needs less: half the time of a start is imports, three times as many modules as those of the bare engine. By default, V8 lets the old generation grow to four times its live size and keeps freed pages: 495 MiB after 100,000 mixed requests. With the flags and `MALLOC_ARENA_MAX` of `npm start`, the process needs at most 284 MiB during a million requests, and 4% more processor time.',
    rows: [
      ['', 'start ms', 'idle MiB', 'after load MiB'],
      ...names.map((name) => [
        name,
        starts.get(name)?.ms.toFixed(0) ?? '',
        starts.get(name)?.idleMiB.toFixed(0) ?? '',
        loadedMiB.get(name)?.toFixed(0) ?? '',
      ]),
    ],
  }
}

/** Renders a Markdown table with aligned columns. */
function alignedTable(rows: Part['rows']): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, column) => (cells[column] ?? '').padEnd(width)).join(' | ')} |`
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`
  const [head = [], ...others] = rows
  return [line(head), rule, ...others.map(line)].join('\n')
}
