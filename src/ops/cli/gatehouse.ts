/** The commands of the operator and of developers. The service runs without them. */

import { join } from 'node:path'

import type { Config } from '../../config/config.ts'
import { CommandRefused } from './command.ts'

// What a command is made of is loaded when it runs: one that there is not, and help, wait for none of it.

const help = `npm run gatehouse -- <command>

It works on the database that the environment names (DATA_DIR or DATABASE_URL), like the service.

  keys list             signing keys: which one signs, which come next, which have retired
  keys rotate           lets the next key sign; running processes follow within seconds
    --upstream          the key of what is forwarded to the platform's own API, and not of id_tokens
    --force             although the next key was published only just now (a key has leaked)
  import <path>         makes the database be as the records of a file say, beside a running service
                        too: NDJSON, a folder of it, - for standard input, or .json files as in
                        config/demo. Broken off, it goes on where it was when it is started again
  export <folder>       writes all sites, people, courses, purchases and OAuth applications as NDJSON,
                        as import takes them, digests of passwords included
  backup <folder>       copies the database, and the files of DATA_DIR, beside a running service too
    --with-secret       and the root secret that DATA_DIR holds
  backup verify <folder>  checks a backup without restoring it
  restore <folder>      brings a backup into an empty place, and ends every grant and session
    --keep-grants       leaves them as they were when the backup was made
  migrate               brings the schema up to date, also with MIGRATE_AT_START=no
    --dry-run           says which migrations are pending and what they lock, and changes nothing
  migrate status        the same
  doctor                checks configuration, storage, keys, clocks, every client, and discovery as it is
                        seen from outside; says what is wrong or weak, and what to do
    --outside           it is wrong when the service does not answer at its address
    --json              as JSON, for programs
  reviewers             who decides about self-declared clients for every site
    add <address>       gives a person with this email address the role of the platform
    remove <address>    takes it away again
  audit                 who did what in the last day, the oldest first
    --since, --until    a time like 2026-03-01T12:00:00Z, or how long ago: 30m, 12h, 7d
    --action, --site, --client, --person
                        only such; a person by id or e-mail address, a site by id or slug
    --json              one line of JSON for each, as docs/audit.md describes
    --follow            goes on with what happens next
  example-env           prints every environment variable with its default and its meaning
  help                  this text

It ends with 0 when all is well, 1 when something is wrong, 2 when the command is not one of these, and
3 when doctor found something weak and nothing wrong.
`

async function main(words: readonly string[]): Promise<void> {
  const command = commandOf(words)
  if (!command) {
    process.stderr.write(`There is no such command: ${words.join(' ')}\n\n${help}`)
    process.exitCode = 2
    return
  }
  try {
    const report = await command()
    if (report !== undefined) process.stdout.write(`${report}\n`)
  } catch (error) {
    if (error instanceof CommandRefused) process.stdout.write(`${error.report}\n`)
    process.stderr.write(`${inWords(error)}\n`)
    process.exitCode = error instanceof CommandRefused ? error.exitCode : 1
  }
}

type Command = () => Promise<string | undefined>

/** The words that were given beside the name of a command. */
interface Given {
  readonly path: string
  has(flag: string): boolean
}

interface CommandForm {
  readonly takesPath?: boolean
  readonly flags?: readonly string[]
  /** Gives the text to print, or throws. */
  run(given: Given): Promise<string>
}

const commands: Readonly<Record<string, CommandForm>> = {
  '': { run: async () => help.trimEnd() },
  help: { run: async () => help.trimEnd() },
  doctor: {
    flags: ['--outside', '--json'],
    async run({ has }) {
      const { diagnose } = await import('../doctor/diagnose.ts')
      return await diagnose(await read(), { demanded: has('--outside'), asJson: has('--json') })
    },
  },
  'example-env': {
    run: async () => (await import('../../config/environment.ts')).renderExampleEnv().trimEnd(),
  },
  'keys list': {
    run: async () => await (await import('./keys-command.ts')).listSigningKeys(await read()),
  },
  'keys rotate': {
    flags: ['--upstream', '--force'],
    async run({ has }) {
      const { rotateSigningKeys } = await import('./keys-command.ts')
      const use = has('--upstream') ? 'upstreams' : 'tokens'
      return await rotateSigningKeys(await read(), { use, force: has('--force') })
    },
  },
  import: {
    takesPath: true,
    run: async ({ path }) =>
      await (await import('./import-command.ts')).importCampus(await read(), path),
  },
  export: {
    takesPath: true,
    run: async ({ path }) =>
      await (await import('./export-command.ts')).exportCampus(await read(), path),
  },
  backup: {
    takesPath: true,
    flags: ['--with-secret'],
    async run({ path, has }) {
      const { backUp } = await import('./backup-command.ts')
      return await backUp(await read(), path, { withSecret: has('--with-secret') })
    },
  },
  'backup verify': {
    takesPath: true,
    run: async ({ path }) => await (await import('./backup-command.ts')).checkBackup(path),
  },
  restore: {
    takesPath: true,
    flags: ['--keep-grants'],
    async run({ path, has }) {
      const { restore } = await import('./restore-command.ts')
      return await restore(await read(), path, { keepGrants: has('--keep-grants') })
    },
  },
  migrate: {
    flags: ['--dry-run'],
    async run({ has }) {
      const { describeMigrations, migrateDatabase } = await import('./migrate-command.ts')
      return await (has('--dry-run') ? describeMigrations : migrateDatabase)(await read())
    },
  },
  'migrate status': {
    run: async () => await (await import('./migrate-command.ts')).describeMigrations(await read()),
  },
  reviewers: {
    run: async () => await (await import('./reviewers-command.ts')).listReviewers(await read()),
  },
  'reviewers add': { takesPath: true, run: async ({ path }) => await changeReviewer(path, true) },
  'reviewers remove': {
    takesPath: true,
    run: async ({ path }) => await changeReviewer(path, false),
  },
}

async function changeReviewer(email: string, holds: boolean): Promise<string> {
  const { changeReviewers } = await import('./reviewers-command.ts')
  return await changeReviewers(await read(), { email, holds })
}

/** Words are matched whole, each once, flags in any order and place. */
function commandOf(given: readonly string[]): Command | undefined {
  // It reads its words by itself, because its flags have values.
  if (given[0] === 'audit') return async () => await audit(given.slice(1))
  const flags = given.filter((word) => word.startsWith('--'))
  const words = given.filter((word) => !word.startsWith('--'))
  if (words.length === 0 && flags.join() === '--help') return async () => help.trimEnd()
  const path = words.at(-1) ?? ''
  // A name that wants a path, without one, is no path of the command before it (`backup verify`).
  const whole = formOf(words.join(' '))
  const before = formOf(words.slice(0, -1).join(' '))
  const taking = before?.takesPath ? before : undefined
  const form = whole ? plain(whole) : taking
  const isKnown = (flag: string) => form?.flags?.includes(flag)
  if (!form || new Set(flags).size < flags.length || !flags.every(isKnown)) return undefined
  return async () => await form.run({ path, has: (flag) => flags.includes(flag) })
}

function plain(form: CommandForm): CommandForm | undefined {
  return form.takesPath ? undefined : form
}

function formOf(name: string): CommandForm | undefined {
  return Object.hasOwn(commands, name) ? commands[name] : undefined
}

/** Prints until all is told, or somebody stops it. */
async function audit(words: readonly string[]): Promise<undefined> {
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())
  // Whoever reads may leave in the middle, as `head` does.
  process.stdout.on('error', () => process.exit())
  const print = (line: string) => process.stdout.write(`${line}\n`)
  const { printAudit } = await import('./audit-command.ts')
  await printAudit(await read(), words, { print, signal: stopping.signal })
}

async function read(): Promise<Config> {
  const { readConfig } = await import('../../config/config.ts')
  return readConfig(process.env, join(import.meta.dirname, '../../../config'))
}

/** The sentence of an error; a stack would say nothing to an operator. */
function inWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause, message } = error
  // What the system said, such as ECONNREFUSED, which the sentence does not repeat.
  const code = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : ''
  return message + code
}

await main(process.argv.slice(2))
