/** The `gatehouse` command, for administrators and developers. */

import { join } from 'node:path'
import { parseArgs } from 'node:util'

import type { Config } from '../../config/config.ts'
import { CommandRefused, type Given, options } from './command-line.ts'

// Load the modules of a command lazily, so the help appears quickly.

const help = `npm run gatehouse -- <command>

The commands use the database of the service (DATA_DIR or DATABASE_URL).

  keys list             lists the signing keys: current, next and retired
  keys rotate           starts to sign with the next key; running processes need no restart
    --upstream          rotates the key for requests to the platform API, not for id_tokens
    --force             rotates even if the next key was just published; use it after a leak
  import <path>         writes the records of an NDJSON file, a folder of NDJSON files, or standard
                        input (-) into the database, even while the service runs. After an
                        interruption, run it again
    --rejects <file>    writes the rejected lines to a file, which you can correct and import
    --missing <choice>  what to do with people from earlier imports who are missing from this one:
                        "keep" counts them, "end" disables them unless there are too many,
                        "end-all" disables them in any case
    --events            sends webhooks for new and changed records
  export <folder>       writes sites, people, courses, purchases and enabled OAuth applications as
                        NDJSON for import, including password hashes
  backup <folder>       copies the database and DATA_DIR/files, even while the service runs
  backup verify <folder>  checks a backup without restoring it
  restore <folder>      restores a backup into an empty database and DATA_DIR, and ends all grants
                        and sessions
    --keep-grants       keeps the grants and sessions of the backup
  grants end-all        ends every grant, session and code. Needed after a restore by other means,
                        such as point-in-time recovery. Stop the service first
    --yes               does not ask for confirmation
  migrate               applies pending migrations, even with MIGRATE_AT_START=no
    --dry-run           lists pending migrations, and changes nothing
  doctor                checks configuration, storage, keys, every application, and discovery from
                        outside; reports what is wrong or weak, and what to do
    --outside           fails if the service does not respond at BASE_URL
    --json              prints JSON
  reviewers             lists the people who review self-declared clients for all sites
    add <address>       makes the person with this e-mail address a reviewer
    remove <address>    removes the person as a reviewer
  person export <id>    prints the stored data about a person as JSON, without secrets
  person delete <id>    marks the account of a person for deletion by the running service
    --yes               confirms the deletion; without it, nothing is deleted
  person end-second-factors <address>
                        removes the authenticator app and recovery codes of a person who lost them
  audit                 prints the audit events of the last 24 hours, oldest first
    --since, --until    a time such as 2026-03-01T12:00:00Z, or a duration such as 30m, 12h or 7d
    --action, --site, --client, --person
                        filters; name a person by id or e-mail address, a site by id or slug
    --json              prints one line of JSON per event (docs/audit-event.schema.json)
  help                  prints this text

Exit codes: 0 success, 1 failure, 2 invalid command or option, 3 doctor found only weaknesses.
`

async function main(words: readonly string[]): Promise<void> {
  const command = findCommand(words)
  if (!command) {
    process.stderr.write(`Invalid command: ${words.join(' ')}\n\n${help}`)
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
  /** Whether an argument follows the command's name. */
  readonly takesArgument?: true
  readonly options?: readonly (keyof typeof options)[]
  /** Loads the function that runs the command. That function returns the text to print, if any. */
  load?(): Promise<(config: Config, given: Given) => Promise<string | undefined>>
  /** Runs a command that needs no configuration. */
  run?(given: Given): Promise<string>
}

const showHelp: Command = { run: async () => help.trimEnd() }
const backups = () => import('./backup-commands.ts')
const imports = () => import('./import-commands.ts')
const keys = () => import('./keys-command.ts')
const migrations = () => import('./migrate-command.ts')
const people = () => import('./person-commands.ts')

const commands: Readonly<Record<string, Command>> = {
  '': showHelp,
  help: showHelp,
  audit: {
    options: ['since', 'until', 'action', 'site', 'client', 'person', 'json'],
    load: async () => (await import('./audit-command.ts')).printAudit,
  },
  doctor: {
    options: ['outside', 'json'],
    load: async () => (await import('../doctor/diagnose.ts')).diagnose,
  },
  'keys list': { load: async () => (await keys()).listSigningKeys },
  'keys rotate': {
    options: ['upstream', 'force'],
    load: async () => (await keys()).rotateSigningKeys,
  },
  import: {
    takesArgument: true,
    options: ['rejects', 'missing', 'events'],
    load: async () => (await imports()).importCampus,
  },
  export: { takesArgument: true, load: async () => (await imports()).exportCampus },
  backup: { takesArgument: true, load: async () => (await backups()).backUp },
  'backup verify': {
    takesArgument: true,
    run: async ({ argument }) => (await backups()).checkBackup(argument),
  },
  restore: {
    takesArgument: true,
    options: ['keep-grants'],
    load: async () => (await backups()).restore,
  },
  'grants end-all': { options: ['yes'], load: async () => (await backups()).endAllGrants },
  migrate: { options: ['dry-run'], load: async () => (await migrations()).migrateDatabase },
  'person export': { takesArgument: true, load: async () => (await people()).printPerson },
  'person delete': {
    takesArgument: true,
    options: ['yes'],
    load: async () => (await people()).deletePerson,
  },
  'person end-second-factors': {
    takesArgument: true,
    load: async () => (await people()).endSecondFactors,
  },
  reviewers: { load: async () => (await people()).listReviewers },
  'reviewers add': { takesArgument: true, load: async () => (await people()).addReviewer },
  'reviewers remove': { takesArgument: true, load: async () => (await people()).removeReviewer },
}

/** Returns a function that runs the command; undefined if the arguments are invalid. Options may appear anywhere. */
function findCommand(given: readonly string[]): (() => Promise<string | undefined>) | undefined {
  const parsed = parseCommandLine(given)
  if (!parsed) return undefined
  const { positionals: words, values } = parsed
  if (words.length === 0 && values.help) return async () => help.trimEnd()
  const named = (name: readonly string[]) => new Map(Object.entries(commands)).get(name.join(' '))
  // `backup verify` without a path must not create a backup in a folder named `verify`.
  const command = named(words) ?? named(words.slice(0, -1))
  const hasArgument = named(words) === undefined
  if (!command || hasArgument !== (command.takesArgument ?? false)) return undefined
  const known: readonly string[] = command.options ?? []
  if (!Object.keys(values).every((option) => known.includes(option))) return undefined
  return async () => {
    const input = { ...values, argument: words.at(-1) ?? '' }
    return (await command.run?.(input)) ?? (await command.load?.())?.(await loadConfig(), input)
  }
}

function parseCommandLine(given: readonly string[]) {
  try {
    const parsed = parseArgs({ args: [...given], options, allowPositionals: true, tokens: true })
    const named = parsed.tokens.flatMap((token) => (token.kind === 'option' ? token.name : []))
    return new Set(named).size === named.length ? parsed : undefined
  } catch {
    return undefined
  }
}

async function loadConfig(): Promise<Config> {
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
