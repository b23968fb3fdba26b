/** The commands of the operator and of developers. The service runs without them. */

import { join } from 'node:path'

import { type Config, readConfig } from '../config/config.ts'
import { renderExampleEnv } from '../config/environment.ts'
import { printAudit } from './audit-command.ts'
import { CommandRefused } from './command.ts'
import { diagnose } from './doctor-command.ts'
import { exportCampus } from './export-command.ts'
import { importCampus } from './import-command.ts'
import { listSigningKeys, rotateSigningKeys } from './keys-command.ts'
import { changeReviewers, listReviewers } from './reviewers-command.ts'

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
  reviewers             who decides about self-declared clients for every site
    add <address>       gives a person with this email address the role of the platform
    remove <address>    takes it away again
  audit                 who did what in the last day, the oldest first
    --since, --until    a time like 2026-03-01T12:00:00Z, or how long ago: 30m, 12h, 7d
    --action, --site, --client, --person
                        only such; a person by id or e-mail address, a site by id or slug
    --json              one line of JSON for each, as docs/audit.md describes
    --follow            goes on with what happens next
  doctor                checks configuration, storage, keys and clock, and says what is wrong
  example-env           prints every environment variable with its default and its meaning
  help                  this text

It ends with 0 when all is well, 1 when something is wrong, 2 when the command is not one of these.
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
    process.exitCode = 1
  }
}

type Command = () => Promise<string | undefined>

/** Each command gives the text to print, or prints by itself, or throws; its words are matched whole. */
const commands: Readonly<Record<string, Command>> = {
  '': async () => help.trimEnd(),
  help: async () => help.trimEnd(),
  '--help': async () => help.trimEnd(),
  reviewers: async () => await listReviewers(read()),
  doctor: async () => await diagnose(read),
  'example-env': async () => renderExampleEnv().trimEnd(),
  'keys list': async () => await listSigningKeys(read()),
  'keys rotate': async () => await rotateSigningKeys(read(), { use: 'tokens', force: false }),
  'keys rotate --force': async () =>
    await rotateSigningKeys(read(), { use: 'tokens', force: true }),
  'keys rotate --upstream': async () =>
    await rotateSigningKeys(read(), { use: 'upstreams', force: false }),
  'keys rotate --upstream --force': async () =>
    await rotateSigningKeys(read(), { use: 'upstreams', force: true }),
}

function commandOf(words: readonly string[]): Command | undefined {
  const [first, path, email] = words
  if (first === 'audit') return async () => await audit(words.slice(1))
  if (first === 'reviewers' && email !== undefined && words.length === 3) {
    return reviewersCommand(path, email)
  }
  if (path !== undefined && words.length === 2) {
    if (first === 'import') return async () => await importCampus(read(), path)
    if (first === 'export') return async () => await exportCampus(read(), path)
  }
  const name = words.join(' ')
  return Object.hasOwn(commands, name) ? commands[name] : undefined
}

function reviewersCommand(change: string | undefined, email: string): Command | undefined {
  if (change !== 'add' && change !== 'remove') return undefined
  return async () => await changeReviewers(read(), { email, holds: change === 'add' })
}

/** Prints until all is told, or somebody stops it. */
async function audit(words: readonly string[]): Promise<undefined> {
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())
  // Whoever reads may leave in the middle, as `head` does.
  process.stdout.on('error', () => process.exit())
  const print = (line: string) => process.stdout.write(`${line}\n`)
  await printAudit(read(), words, { print, signal: stopping.signal })
}

function read(): Config {
  return readConfig(process.env, join(import.meta.dirname, '../../config'))
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
