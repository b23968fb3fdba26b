import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { paths } from '../../src/platform/http/paths.ts'
import { install } from '../support/install.ts'
import { makeChance } from './chance.ts'
import { startTarget } from './target.ts'
import { openWorld } from './world.ts'

/**
 * `npm run test:fuzz -- schemathesis`: somebody else's fuzzer reads /openapi.json and holds the service
 * against it. Where there is no Python, or no registry, it is named as not run.
 */
const schemathesis = { registry: 'pypi', name: 'schemathesis', version: '4.32.5' } as const

/** What is held: no fault, and for every answer the status, type and body that the document says. */
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
]

export interface SchemathesisOptions {
  readonly minutes: number
  readonly seed: number
  readonly examples: number
}

/** @returns whether nothing was found, or it could not be run */
export async function runSchemathesis({
  minutes,
  seed,
  examples,
}: SchemathesisOptions): Promise<boolean> {
  const over = AbortSignal.timeout(minutes * 60_000)
  const installed = await install(schemathesis, over)
  if (installed.kind === 'missing') {
    process.stdout.write(`schemathesis was not run: it ${installed.why}\n`)
    return true
  }
  await using target = await startTarget('sqlite', () => {})
  const world = await openWorld(target.url)
  const token = world.valuesFor(makeChance(seed))('memberToken')
  const words = [
    ...['run', target.url + paths.openApi, '--no-color', '--seed', String(seed)],
    ...['--checks', checks.join(','), '--max-examples', String(examples)],
    ...['--header', `Authorization: Bearer ${token}`, '--request-timeout', '10'],
    // Each step of a flow needs a person, who is not here.
    ...['--phases', 'examples,coverage,fuzzing'],
  ]
  const child = spawn(join(installed.folder, 'bin/st'), words, {
    // It writes down what it has seen.
    cwd: tmpdir(),
    stdio: ['ignore', 'inherit', 'inherit'],
    signal: over,
  })
  try {
    const [code] = await once(child, 'exit')
    return code === 0
  } catch {
    process.stdout.write(
      'schemathesis had no time to end; what it had said until then stands above\n',
    )
    return true
  }
}
