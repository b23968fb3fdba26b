import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { findProgram } from '../test/support/programs.ts'
import type { Stores } from './servers.ts'

const root = join(import.meta.dirname, '..')

/** Names the versions of the service, its engine and its stores. */
export async function describeVersions({ redis }: Stores): Promise<string> {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const server = String(await redis.ask('INFO', 'server'))
  const [, redisVersion = ''] = /redis_version:(\S+)/.exec(server) ?? []
  const postgresFile = findProgram('postgres') ?? ''
  const [, postgresVersion = ''] =
    /(\d[\d.]*)/.exec(execFileSync(postgresFile, ['--version']).toString()) ?? []
  return (
    `node ${process.versions.node}, oidc-provider ${dependencies['oidc-provider']}, ` +
    `PostgreSQL ${postgresVersion}, Redis ${redisVersion}, commit ${commit()}`
  )
}

function commit(): string {
  const git = (...words: string[]) => execFileSync('git', words, { cwd: root }).toString().trim()
  try {
    const changed = git('status', '--porcelain', 'src', 'views') === '' ? '' : ' with changes'
    return `${git('rev-parse', '--short', 'HEAD')}${changed}`
  } catch {
    return 'unknown'
  }
}
