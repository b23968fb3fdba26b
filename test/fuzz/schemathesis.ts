import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { paths } from '../../src/platform/http/paths.ts'
import { install } from '../support/install.ts'
import { makeChance } from './random.ts'
import { startTarget } from './target.ts'
import { openWorld } from './world.ts'

const schemathesis = { registry: 'pypi', name: 'schemathesis', version: '4.32.5' } as const

const checks = [
  ...['not_a_server_error', 'status_code_conformance', 'content_type_conformance'],
  'response_schema_conformance',
]

/** Checks the service against /openapi.json with a third-party fuzzer. Returns false if it finished with findings. */
export async function runSchemathesis({ minutes, seed }: Record<'minutes' | 'seed', number>) {
  const over = AbortSignal.timeout(minutes * 60_000)
  const installed = await install(schemathesis, over)
  if (installed.kind === 'missing') {
    process.stdout.write(`schemathesis was not run: ${installed.why}\n`)
    return true
  }
  await using target = await startTarget(() => {})
  const token = (await openWorld(target.url)).valuesFor(makeChance(seed))('memberToken')
  const words = [
    ...['run', target.url + paths.openApi, '--no-color', '--seed', String(seed)],
    ...['--checks', checks.join(','), '--max-examples', '20'],
    ...['--header', `Authorization: Bearer ${token}`, '--request-timeout', '10'],
    // Leave out the phase `stateful`, whose steps need a person.
    ...['--phases', 'examples,coverage,fuzzing'],
  ]
  const child = spawn(join(installed.folder, 'bin/st'), words, {
    cwd: tmpdir(),
    stdio: ['ignore', 'inherit', 'inherit'],
    signal: over,
  })
  try {
    const [code] = await once(child, 'exit')
    return code === 0
  } catch {
    process.stdout.write('schemathesis reached its time limit; its findings until then are above\n')
    return true
  }
}
