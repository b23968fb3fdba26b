/** The commands of the operator and of developers. The service runs without them. */

import { join } from 'node:path'

import type { Config } from '../../config/config.ts'
import { CommandRefused } from './command-output.ts'

// The modules of a command are loaded when it runs, so that help and an unknown command wait for none.

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
    --json              one line of JSON for each, as docs/audit-event.schema.json describes
    --follow            goes on with what happens next
  example-env           prints every environment variable with its default and its meaning
  help                  this text

It ends with 0 when all is well, 1 when something is wrong, 2 when the command is not one of these, and
3 when doctor found something weak and nothing wrong.
`

async function main(words: readonly string[]): Promise<void> {
  const command = findCommand(words)
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
    process.stderr.write(`${describeError(error)}\n`)
    process.exitCode = error instanceof CommandRefused ? error.exitCode : 1
  }
}

interface Command {
  /** Whether a word follows its name: a path, or an address. */
  readonly takesWord?: true
  readonly flags?: readonly string[]
  /** Gives the text to print, or throws. */
  run(word: string, has: (flag: string) => boolean): Promise<string>
}

const showHelp: Command = { run: async () => help.trimEnd() }

const commands: Readonly<Record<string, Command>> = {
  '': showHelp,
  help: showHelp,
  doctor: {
    flags: ['--outside', '--json'],
    async run(_, has) {
      const { diagnose } = await import('../doctor/diagnose.ts')
      return await diagnose(await read(), { demanded: has('--outside'), asJson: has('--json') })
    },
  },
  'example-env': {
    run: async () => (await import('../../config/environment.ts')).renderExampleEnv().trimEnd(),
  },
  'keys list': {
    run: async () => (await import('./keys-command.ts')).listSigningKeys(await read()),
  },
  'keys rotate': {
    flags: ['--upstream', '--force'],
    async run(_, has) {
      const { rotateSigningKeys } = await import('./keys-command.ts')
      const use = has('--upstream') ? 'upstreams' : 'tokens'
      return await rotateSigningKeys(await read(), { use, force: has('--force') })
    },
  },
  import: {
    takesWord: true,
    run: async (path) => (await import('./import-commands.ts')).importCampus(await read(), path),
  },
  export: {
    takesWord: true,
    run: async (path) => (await import('./import-commands.ts')).exportCampus(await read(), path),
  },
  backup: {
    takesWord: true,
    flags: ['--with-secret'],
    async run(path, has) {
      const { backUp } = await import('./backup-commands.ts')
      return await backUp(await read(), path, has('--with-secret'))
    },
  },
  'backup verify': {
    takesWord: true,
    run: async (path) => (await import('./backup-commands.ts')).checkBackup(path),
  },
  restore: {
    takesWord: true,
    flags: ['--keep-grants'],
    async run(path, has) {
      const { restore } = await import('./backup-commands.ts')
      return await restore(await read(), path, has('--keep-grants'))
    },
  },
  migrate: {
    flags: ['--dry-run'],
    async run(_, has) {
      const { describeMigrations, migrateDatabase } = await import('./migrate-command.ts')
      return await (has('--dry-run') ? describeMigrations : migrateDatabase)(await read())
    },
  },
  'migrate status': {
    run: async () => (await import('./migrate-command.ts')).describeMigrations(await read()),
  },
  reviewers: {
    run: async () => (await import('./reviewers-command.ts')).listReviewers(await read()),
  },
  'reviewers add': {
    takesWord: true,
    run: async (email) =>
      (await import('./reviewers-command.ts')).changeReviewer(await read(), email, true),
  },
  'reviewers remove': {
    takesWord: true,
    run: async (email) =>
      (await import('./reviewers-command.ts')).changeReviewer(await read(), email, false),
  },
}

/** Words are matched whole, each once, flags in any order and place. */
function findCommand(given: readonly string[]): (() => Promise<string | undefined>) | undefined {
  // It reads its words by itself, because its flags have values.
  if (given[0] === 'audit') return async () => await audit(given.slice(1))
  const flags = given.filter((word) => word.startsWith('--'))
  const words = given.filter((word) => !word.startsWith('--'))
  if (words.length === 0 && flags.join() === '--help') return async () => help.trimEnd()
  const named = (name: readonly string[]) => new Map(Object.entries(commands)).get(name.join(' '))
  // `backup verify` without a path is not a backup to the path `verify`.
  const command = named(words) ?? named(words.slice(0, -1))
  const takesWord = named(words) === undefined
  if (!command || takesWord !== (command.takesWord ?? false)) return undefined
  const isKnown = (flag: string) => command.flags?.includes(flag)
  if (new Set(flags).size < flags.length || !flags.every(isKnown)) return undefined
  return async () => await command.run(words.at(-1) ?? '', (flag) => flags.includes(flag))
}

/** Prints until all is printed, or a signal comes. */
async function audit(words: readonly string[]): Promise<undefined> {
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())
  // The reader of a pipe may close it early, as `head` does.
  process.stdout.on('error', () => process.exit())
  const print = (line: string) => process.stdout.write(`${line}\n`)
  const { printAudit } = await import('./audit-command.ts')
  await printAudit(await read(), words, print, stopping.signal)
}

async function read(): Promise<Config> {
  const { readConfig } = await import('../../config/config.ts')
  return readConfig(process.env, join(import.meta.dirname, '../../../config'))
}

/** The sentence of an error; a stack would say nothing to an operator. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause, message } = error
  // What the system said, such as ECONNREFUSED, which the sentence does not repeat.
  const code = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : ''
  return message + code
}

await main(process.argv.slice(2))
