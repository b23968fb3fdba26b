import { parseArgs } from 'node:util'

import { type OperationName, operationNames } from './operations.ts'

/** The storages of the service, with their names in tables. */
export const storages = {
  'postgres-redis': 'PostgreSQL + Redis',
  sqlite: 'SQLite',
  postgres: 'PostgreSQL',
} as const
export type Storage = keyof typeof storages

/** The measurements in addition to those of single operations. */
const sections = ['sign-ins', 'import', 'watched', 'workers', 'counted', 'start', 'growth'] as const
export type Section = (typeof sections)[number]

export interface Options {
  readonly storages: readonly Storage[]
  readonly operations: readonly OperationName[]
  readonly sections: ReadonlySet<Section>
  readonly rounds: number
  /** The time for one operation on one server in a round, at 32 connections. */
  readonly seconds: number
  /** Replaces `seconds` in round 0. In less than four seconds, V8 does not compile all functions of a code exchange. */
  readonly warmUpSeconds: number
  /** The number of times to measure each kind of start. */
  readonly starts: number
  /** Replaces `seconds` in `growth` and `workers`. Should exceed three seconds, the interval between usage writes. */
  readonly growthSeconds: number
  /** The numbers of grants at which growth is measured. The figures at each are compared with those at the first. */
  readonly growthSizes: readonly number[]
  /** The number of lines to import while the service runs. */
  readonly importLines: number
  readonly json: string | undefined
  readonly write: boolean
  /** The operation to profile. If set, nothing is measured. */
  readonly profile: OperationName | undefined
}

export const usage = `npm run bench -- [options]

  --quick             a run of less than three minutes: two short rounds, growth to 10,000 grants
  --only a,b          some of: ${operationNames.join(', ')};
                      ${sections.join(', ')}
  --storage a,b       some of: ${Object.keys(storages).join(', ')}
  --rounds n          number of rounds (5); each measures every operation on every server once
  --seconds n         seconds of an operation in a round (2)
  --growth            growth to 1,000,000 grants, and an import of as many lines; takes memory, disk
                      and half an hour
  --json file         writes all figures
  --write             writes docs/reference/performance.md
  --profile name      writes a processor profile of one operation into ./profiles, and prints a summary
`

/** Parses the command line. @throws Error with a sentence for the user */
export function readOptions(words: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...words],
    options: {
      ...{ help: { type: 'boolean' }, quick: { type: 'boolean' }, growth: { type: 'boolean' } },
      ...{ only: { type: 'string' }, storage: { type: 'string' }, profile: { type: 'string' } },
      ...{ rounds: { type: 'string' }, seconds: { type: 'string' } },
      ...{ json: { type: 'string' }, write: { type: 'boolean' } },
    } as const,
  })
  if (values.help) return 'help'
  if (values.write && (values.only ?? values.storage) !== undefined) {
    throw new Error('--write needs a complete run; omit --only and --storage')
  }
  const all = [...operationNames, ...sections]
  const chosen = listOf(values.only, all)
  const quick = values.quick === true
  return {
    storages: listOf(values.storage, Object.keys(storages) as Storage[]),
    operations: operationNames.filter((name) => chosen.includes(name)),
    sections: new Set(sections.filter((name) => chosen.includes(name))),
    rounds: positive('rounds', values.rounds, quick ? 2 : 5),
    seconds: positive('seconds', values.seconds, quick ? 0.5 : 2),
    warmUpSeconds: quick ? 1 : 4,
    starts: quick ? 2 : 7,
    growthSeconds: quick ? 1 : 4,
    growthSizes: growthSizes(quick, values.growth === true),
    importLines: growthSizes(quick, values.growth === true).at(-1) ?? 0,
    json: values.json,
    write: values.write === true,
    profile: values.profile === undefined ? undefined : oneOf(values.profile, operationNames),
  }
}

function growthSizes(quick: boolean, whole: boolean): number[] {
  if (whole) return [1000, 100_000, 1_000_000]
  return quick ? [1000, 10_000] : [1000, 100_000]
}

export function listOf<Name extends string>(
  text: string | undefined,
  known: readonly Name[],
): Name[] {
  return text === undefined ? [...known] : text.split(',').map((name) => oneOf(name, known))
}

function oneOf<Name extends string>(text: string, known: readonly Name[]): Name {
  const name = known.find((each) => each === text)
  if (name === undefined) throw new Error(`${text} is unknown; choose from ${known.join(', ')}`)
  return name
}

export function positive(name: string, text: string | undefined, otherwise: number): number {
  const value = text === undefined ? otherwise : Number(text)
  if (value > 0) return value
  throw new Error(`--${name} must be a number above 0`)
}
