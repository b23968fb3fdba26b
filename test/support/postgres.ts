import { execFile, execFileSync } from 'node:child_process'
import { chownSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

import pg from 'pg'

import { openDatabase } from '../../src/platform/store/open-stores.ts'
import { loadDemo } from './demo-database.ts'
import { freePort, removeFolder, startProgram, temporaryFolder } from './programs.ts'
import { cached } from './shared.ts'
import { diskFolder } from './temporary-folder.ts'

export type Content = 'nothing' | 'tables' | 'demo'

export type PostgresServer = Awaited<ReturnType<typeof startPostgres>>

/** Starts a PostgreSQL server on a free port. By default, it does not sync to disk. */
export async function startPostgres(
  file: string,
  settings: readonly string[] = [],
  parentFolder: string = diskFolder(),
) {
  const owner = serverOwner()
  const folder = temporaryFolder(parentFolder)
  if (owner) chownSync(folder, owner.uid, owner.gid)
  await promisify(execFile)(
    join(dirname(file), 'initdb'),
    ['-D', join(folder, 'data'), '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
    { cwd: folder, ...owner },
  )

  const port = await freePort()
  const program = await startProgram({
    file,
    arguments: [
      ...['-D', join(folder, 'data'), '-k', folder, '-p', `${port}`, '-h', '127.0.0.1'],
      ...['-c', 'fsync=off', '-c', 'full_page_writes=off', '-c', 'synchronous_commit=off'],
      // With mmap, the shared memory of a killed server is removed with its folder.
      ...['-c', 'dynamic_shared_memory_type=mmap'],
      ...['-c', 'shared_buffers=16MB', '-c', 'max_connections=100', '-c', 'autovacuum=off'],
      ...settings.flatMap((setting) => ['-c', setting]),
    ],
    cwd: folder,
    readyWhen: /database system is ready to accept connections/,
    owner,
  })
  return {
    ...program,
    createDatabase: databaseCreator((name) => `postgres://postgres@127.0.0.1:${port}/${name}`),
    async [Symbol.asyncDispose]() {
      program.thaw()
      await program.kill()
      removeFolder(folder)
    },
  }
}

/** Returns the user for PostgreSQL, if this process is root. PostgreSQL refuses to run as root. */
function serverOwner(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (kind: '-u' | '-g') => Number(execFileSync('id', [kind, 'postgres']).toString())
  return { uid: id('-u'), gid: id('-g') }
}

/** Returns a function that copies databases from templates, so a server migrates and loads the demo only once. */
function databaseCreator(url: (name: string) => string) {
  let count = 0
  const create = async (template: string) => {
    count += 1
    const name = `test_${count}`
    await using client = await connectTo(url('postgres'))
    await client.query(`create database ${name} template ${template}`)
    return name
  }
  const templateOf = cached(async (content: Content): Promise<string> => {
    if (content === 'nothing') return 'template0'
    const name = await create(await templateOf(content === 'demo' ? 'tables' : 'nothing'))
    const location = { kind: 'postgres', url: url(name), connectionsMax: 1 } as const
    await using database = await openDatabase(location, { answerWithinMs: 10_000 })
    if (content === 'demo') await loadDemo(database)
    return name
  })
  return async (content: Content = 'tables') => url(await create(await templateOf(content)))
}

/** Opens a connection to a database. Disposal closes it. */
export async function connectTo(url: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}

/** Returns the server that the tests of a process share. They create separate databases on it. */
export const sharedPostgres = cached(async (file: string) => await startPostgres(file))
