/** The `gatehouse` command, for administrators and developers. */

import { join } from 'node:path'
import { parseArgs } from 'node:util'

import type { Config } from '../../config/config.ts'
import { CommandRefused } from './command-output.ts'

// Each command loads its modules lazily, to show the help quickly.

const help = `npm run gatehouse -- <command>

The commands use the database of the service (DATA_DIR or DATABASE_URL).

  keys list             lists the signing keys: current, next and retired
  keys rotate           makes the next key sign; running processes need no restart
    --upstream          rotates the key for requests to the platform API, not for id_tokens
    --force             rotates even if the next key was just published (after a leak)
  import <path>         writes records into the database, even while the service runs: from an
                        NDJSON file, a folder of NDJSON files, standard input (-), or a folder of
                        .json files as in config/demo. After an interruption, run it again to resume
    --rejects <file>    collects the rejected lines in a file, to correct and import again
    --missing <choice>  what to do with people from earlier imports who are missing from this one:
                        keep counts them, end disables them unless there are too many of them,
                        end-all disables them in any case
  export <folder>       writes all sites, people, courses, purchases and OAuth applications as NDJSON
                        for import, including password hashes
  backup <folder>       copies the database and the files of DATA_DIR, even while the service runs
    --with-secret       includes the root secret of DATA_DIR
  backup verify <folder>  checks a backup without restoring it
  restore <folder>      restores a backup into an empty database and DATA_DIR, and ends all grants
                        and sessions
    --keep-grants       keeps the grants and sessions of the backup
  grants end-all        ends every grant, session and code: after a restore by other means, such as
                        point-in-time recovery. Stop the service first
    --yes               does not ask for confirmation
  migrate               applies pending migrations, even with MIGRATE_AT_START=no
    --dry-run           lists pending migrations and what they lock, and changes nothing
  migrate status        the same as migrate --dry-run
  doctor                checks configuration, storage, keys, clocks, every client, and discovery from
                        outside; reports what is wrong or weak, and what to do
    --outside           fails if the service does not respond at BASE_URL
    --json              prints JSON
  reviewers             lists the people who review self-declared clients for all sites
    add <address>       makes the person with this e-mail address a reviewer
    remove <address>    removes the person as a reviewer
  person export <id>    prints the data that is stored about a person as JSON, without secrets
  person delete <id>    marks the account of a person for deletion by the running service
    --yes               confirms the deletion; without it, nothing is deleted
  person end-second-factors <address>
                        removes the authenticator app and recovery codes of a person who lost them
  audit                 prints the audit events of the last 24 hours, oldest first
    --since, --until    a time such as 2026-03-01T12:00:00Z, or a duration such as 30m, 12h, 7d
    --action, --site, --client, --person
                        filters; a person by id or e-mail address, a site by id or slug
    --json              prints one line of JSON per event (docs/audit-event.schema.json)
    --follow            continues to print new events
  example-env           prints all environment variables with their defaults and descriptions
  help                  prints this text

Exit codes: 0 success, 1 failure, 2 unknown command or option, 3 doctor found only weaknesses.
`

async function main(words: readonly string[]): Promise<void> {
  const command = findCommand(words)
  if (!command) {
    process.stderr.write(`Unknown command: ${words.join(' ')}\n\n${help}`)
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
  /** Whether the name is followed by an argument. */
  readonly takesWord?: true
  readonly options?: readonly (keyof typeof options)[]
  /** Runs the command. @returns the text to print; undefined if the command has printed it */
  run(word: string, given: Given): Promise<string | undefined>
}

/** The options of all commands. */
const options = {
  action: { type: 'string' },
  client: { type: 'string' },
  'dry-run': { type: 'boolean' },
  follow: { type: 'boolean' },
  force: { type: 'boolean' },
  help: { type: 'boolean' },
  json: { type: 'boolean' },
  'keep-grants': { type: 'boolean' },
  missing: { type: 'string' },
  outside: { type: 'boolean' },
  person: { type: 'string' },
  rejects: { type: 'string' },
  since: { type: 'string' },
  site: { type: 'string' },
  until: { type: 'string' },
  upstream: { type: 'boolean' },
  'with-secret': { type: 'boolean' },
  yes: { type: 'boolean' },
} as const

type Given = ReturnType<typeof parseArgs<{ options: typeof options }>>['values']

const showHelp: Command = { run: async () => help.trimEnd() }

const commands: Readonly<Record<string, Command>> = {
  '': showHelp,
  help: showHelp,
  audit: {
    options: ['since', 'until', 'action', 'site', 'client', 'person', 'json', 'follow'],
    run: async (_, given) => (await import('./audit-command.ts')).printAudit(await read(), given),
  },
  doctor: {
    options: ['outside', 'json'],
    async run(_, { outside = false, json = false }) {
      const { diagnose } = await import('../doctor/diagnose.ts')
      return await diagnose(await read(), { mustRespond: outside, asJson: json })
    },
  },
  'example-env': {
    run: async () => (await import('../../config/environment.ts')).renderExampleEnv().trimEnd(),
  },
  'keys list': {
    run: async () => (await import('./keys-command.ts')).listSigningKeys(await read()),
  },
  'keys rotate': {
    options: ['upstream', 'force'],
    async run(_, { upstream, force = false }) {
      const { rotateSigningKeys } = await import('./keys-command.ts')
      const use = upstream ? 'upstreams' : 'tokens'
      return await rotateSigningKeys(await read(), { use, force })
    },
  },
  import: {
    takesWord: true,
    options: ['rejects', 'missing'],
    async run(path, { rejects, missing }) {
      const { missingChoices } = await import('../import/absent-people.ts')
      const choice = missingChoices.find((known) => known === missing)
      if (missing !== choice)
        throw new Error(`--missing must be one of ${missingChoices.join(', ')}`)
      const { importCampus } = await import('./import-commands.ts')
      return await importCampus(await read(), path, { rejects, missing: choice })
    },
  },
  export: {
    takesWord: true,
    run: async (path) => (await import('./import-commands.ts')).exportCampus(await read(), path),
  },
  backup: {
    takesWord: true,
    options: ['with-secret'],
    run: async (path, { 'with-secret': withSecret = false }) =>
      (await import('./backup-commands.ts')).backUp(await read(), path, withSecret),
  },
  'backup verify': {
    takesWord: true,
    run: async (path) => (await import('./backup-commands.ts')).checkBackup(path),
  },
  restore: {
    takesWord: true,
    options: ['keep-grants'],
    run: async (path, { 'keep-grants': keepGrants = false }) =>
      (await import('./backup-commands.ts')).restore(await read(), path, keepGrants),
  },
  'grants end-all': {
    options: ['yes'],
    run: async (_, { yes = false }) =>
      (await import('./backup-commands.ts')).endAllGrants(await read(), yes),
  },
  migrate: {
    options: ['dry-run'],
    async run(_, given) {
      const { describeMigrations, migrateDatabase } = await import('./migrate-command.ts')
      return await (given['dry-run'] ? describeMigrations : migrateDatabase)(await read())
    },
  },
  'migrate status': {
    run: async () => (await import('./migrate-command.ts')).describeMigrations(await read()),
  },
  'person export': {
    takesWord: true,
    run: async (id) => (await import('./person-commands.ts')).printPerson(await read(), id),
  },
  'person delete': {
    takesWord: true,
    options: ['yes'],
    run: async (id, { yes = false }) =>
      (await import('./person-commands.ts')).deletePerson(await read(), id, yes),
  },
  'person end-second-factors': {
    takesWord: true,
    run: async (email) =>
      (await import('./person-commands.ts')).endSecondFactors(await read(), email),
  },
  reviewers: {
    run: async () => (await import('./person-commands.ts')).listReviewers(await read()),
  },
  'reviewers add': {
    takesWord: true,
    run: async (email) =>
      (await import('./person-commands.ts')).changeReviewer(await read(), email, true),
  },
  'reviewers remove': {
    takesWord: true,
    run: async (email) =>
      (await import('./person-commands.ts')).changeReviewer(await read(), email, false),
  },
}

/** Returns a function that runs the command, or undefined if the arguments are invalid. Options may be anywhere. */
function findCommand(given: readonly string[]): (() => Promise<string | undefined>) | undefined {
  const parsed = parse(given)
  if (!parsed) return undefined
  const { positionals: words, values } = parsed
  if (words.length === 0 && values.help) return async () => help.trimEnd()
  const named = (name: readonly string[]) => new Map(Object.entries(commands)).get(name.join(' '))
  // `backup verify` without a path must not create a backup in a folder named `verify`.
  const command = named(words) ?? named(words.slice(0, -1))
  const takesWord = named(words) === undefined
  if (!command || takesWord !== (command.takesWord ?? false)) return undefined
  const known: readonly string[] = command.options ?? []
  if (!Object.keys(values).every((option) => known.includes(option))) return undefined
  return async () => await command.run(words.at(-1) ?? '', values)
}

function parse(given: readonly string[]) {
  try {
    const parsed = parseArgs({ args: [...given], options, allowPositionals: true, tokens: true })
    const named = parsed.tokens.flatMap((token) => (token.kind === 'option' ? token.name : []))
    return new Set(named).size === named.length ? parsed : undefined
  } catch {
    return undefined
  }
}

async function read(): Promise<Config> {
  const { readConfig } = await import('../../config/config.ts')
  return readConfig(process.env, join(import.meta.dirname, '../../../config'))
}

/** Formats an error without its stack trace. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause, message } = error
  const code = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : ''
  return message + code
}

await main(process.argv.slice(2))
