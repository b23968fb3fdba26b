import { judgeGoals, timesAsCheap } from './goals.ts'
import { growing } from './growth.ts'
import { IMPORT_CONNECTIONS } from './imports.ts'
import { type OperationName, operations } from './operations.ts'
import { storages } from './options.ts'
import { BARE, type Results } from './results.ts'
import type { Figure, Figures } from './rounds.ts'
import { kinds } from './sample.ts'
import { SIGN_IN_CONNECTIONS } from './sign-ins.ts'
import { CONNECTIONS } from './supply.ts'
import { watchedPart } from './watched.ts'

/** A section of the page: a heading, a text and a table. */
interface Part {
  readonly title: string
  readonly text: string
  readonly rows: readonly (readonly string[])[]
}

/** Renders docs/performance.md. */
export function makePage(results: Results): string {
  const intro = `# Performance

This page is written by \`npm run bench -- --write\` and never by hand. The bench starts stores of its own, the
service as users start it (\`npm start\`, its log written), and beside it the *bare engine*: the version of
oidc-provider that we use, in a process of its own, with a plain Redis adapter, constant clients, and no log. It does
less: no people, sites or roles, no live check of a token's grant, no detection of raced codes, no audit, no limits.

- ${results.date}
- ${results.machine}
- ${results.versions}
- ${results.manner}. Each round measures every server and operation, the servers one right after the other in another
  order each time; figures are medians over the rounds. No store waits for a disk, except SQLite.

What does not depend on the machine is asserted by \`test/system/round-trips.test.ts\`; no timing is asserted anywhere.
`
  return [
    intro,
    ...partsOf(results).map(({ title, text, rows }) => section(title, text, rows)),
  ].join('\n')
}

function section(title: string, text: string, rows: Part['rows']): string {
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
    text: `${met} of ${goals.length} are met in this run.`,
    rows: [
      ['goal', 'wanted', 'found', ''],
      ...goals.map((goal) => [goal.what, goal.wanted, goal.found, goal.met ? 'met' : 'not met']),
    ],
  }
}

function processorPart({ figures }: Results): Part {
  const bare = figures.get(BARE)
  return {
    title: 'Processor time of an operation',
    text: `User and system time of the server in microseconds, at ${CONNECTIONS} connections; in brackets how many times as cheap as the bare engine.`,
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
    text: 'Requests per second, and the times in milliseconds that half and all but one of a hundred requests take at most; then the share of answers that the limit on storage refused, where there were any.',
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
    text: 'The last column is the size of an answer of the service, headers included.',
    rows: table('p50/p99 ms', figures, cell, true),
  }
}

/** Creates a row for each operation of the first server, and a column for each server. */
function table(
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
    text: `UserInfo at ${SIGN_IN_CONNECTIONS} connections, by itself and while eight people sign in without a pause, each with a password that is hashed.`,
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
    title: 'While data are imported',
    text: `UserInfo at ${IMPORT_CONNECTIONS} connections, by itself and while a file of this many lines is imported: people, what they bought, where they stopped.`,
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
    text: 'What one request asks of PostgreSQL and Redis: statements where the driver is given them, commands and batches by the statistics of Redis (a batch is what it reads at once; what a script does is counted), and how many were taken one after the other.',
    rows: [
      ['', 'SQL statements', 'Redis commands', 'Redis batches', 'deep'],
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
    text: 'Microseconds of an operation over random grants of a store that holds this many; in brackets against the first size. Each grant is of a person of its own, and has one family of tokens.',
    rows: [['', 'grants', ...growing.map((name) => operations[name].title)], ...rows],
  }
}

function bytesPart({ growth }: Results): Part {
  const largest = Object.keys(storages).flatMap(
    (storage) => growth.findLast((grown) => grown.storage === storage) ?? [],
  )
  return {
    title: 'Bytes that are kept',
    text: 'By one of each in the database that holds the most, indexes included: a person with one role, a grant with its scopes, and a family of tokens, which has this size however often it is refreshed. Redis keeps nothing of them.',
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
    text: 'From the start of the process to its first answer, on one core; resident memory when idle, and after all of the load above. By default, V8 lets the old generation grow to four times its live size and keeps the freed pages: 495 MiB after 100,000 mixed requests. With the flags and arenas of `npm start`, it is 298 MiB after 500,000, for 3 % more processor time; the bare engine needs 407 MiB in the same run.',
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
