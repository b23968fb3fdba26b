import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { isContinuousIntegration } from '../support/programs.ts'
import { type Mutant, mutants } from './table.ts'

/**
 * `npm run test:mutants`: each line of the table that decides is made to decide wrongly, in a copy of the
 * tree, and its tests have to notice. It fails for a mutant that lives and is not explained, and for one
 * that is explained and dies after all.
 */
const { values: options } = parseArgs({
  options: {
    /** Mutants whose file holds this word. */
    only: { type: 'string', default: '' },
    /** So many of them, spread over the table, and others at another seed. */
    sample: { type: 'string' },
    seed: { type: 'string', default: '0' },
    /** The run ends by itself; what it had no time for is named. */
    minutes: { type: 'string', default: '60' },
    atOnce: { type: 'string', default: '2' },
  },
})

const root = join(import.meta.dirname, '../..')
const TEST_TIMEOUT_MS = 180_000
const copied = [
  'src',
  'test',
  'views',
  'tools',
  'config',
  'docs',
  'conformance',
  'bench',
  'examples',
  'package.json',
]

type Outcome = 'killed' | 'lives' | 'not run'

/** Test files that fail without any mutant, and cannot judge one. */
const unsound = new Set<string>()

async function main(): Promise<void> {
  const endsAt = Date.now() + Number(options.minutes) * 60_000
  const chosen = choose(mutants.filter(({ file }) => file.includes(options.only)))
  const waiting = [...chosen.entries()]
  const outcomes: Outcome[] = chosen.map(() => 'not run')
  const work = async () => {
    const tree = copyTree()
    try {
      const sound = new Map<string, boolean>()
      for (let next = waiting.shift(); next && Date.now() < endsAt; next = waiting.shift()) {
        const [at, mutant] = next
        const outcome = await judge(tree, mutant, sound)
        outcomes[at] = outcome
        say(mutant, outcome)
      }
    } finally {
      rmSync(tree, { recursive: true, force: true })
    }
  }
  await Promise.all(Array.from({ length: Number(options.atOnce) }, work))
  report(chosen, outcomes)
}

/** Every so many, beginning with the seed. */
function choose(all: readonly Mutant[]): readonly Mutant[] {
  if (options.sample === undefined) return all
  const every = Math.max(1, Math.floor(all.length / Number(options.sample)))
  return all.filter((_, at) => (at + Number(options.seed)) % every === 0)
}

/** The tree without what is installed, which is linked. */
function copyTree(): string {
  const tree = mkdtempSync(join(tmpdir(), 'gatehouse-mutants-'))
  for (const name of copied) cpSync(join(root, name), join(tree, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'))
  return tree
}

async function judge(tree: string, mutant: Mutant, sound: Map<string, boolean>): Promise<Outcome> {
  const file = join(tree, mutant.file)
  const source = readFileSync(file, 'utf8')
  if (source.split(mutant.text).length !== 2) {
    throw new Error(`${mutant.file} does not have exactly once: ${mutant.text}`)
  }
  for (const test of mutant.tests) {
    if (!sound.has(test)) sound.set(test, await passesInTwo(tree, test))
    if (!sound.get(test)) {
      unsound.add(test)
      return 'not run'
    }
  }
  writeFileSync(
    file,
    source.replace(mutant.text, () => mutant.replacement),
  )
  try {
    // One that is said to live is not killed by a busy machine.
    const look = mutant.lives === undefined ? passes : passesInTwo
    for (const test of mutant.tests) if (!(await look(tree, test))) return 'killed'
    return 'lives'
  } finally {
    writeFileSync(file, source)
  }
}

/** Whether it passes at the first or the second attempt: a busy machine fails it once. */
async function passesInTwo(tree: string, test: string): Promise<boolean> {
  return (await passes(tree, test)) || (await passes(tree, test))
}

/** Whether a test file passes. A mutant with which it does not end has been noticed, too. */
async function passes(tree: string, test: string): Promise<boolean> {
  const words = [
    '--exit',
    '--no-package',
    '--bail',
    '--timeout',
    '60000',
    '--reporter',
    'dot',
    test,
  ]
  const child = spawn(process.execPath, ['node_modules/mocha/bin/mocha.js', ...words], {
    cwd: tree,
    // Some mutants die on PostgreSQL or Redis only.
    // biome-ignore lint/style/noProcessEnv: what tests find programs by
    env: { ...process.env, TEST_STORES: 'all' },
    stdio: 'ignore',
    timeout: TEST_TIMEOUT_MS,
    // A mutant may never come back to its loop, and hears nothing else then.
    killSignal: 'SIGKILL',
  })
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)
  const [code] = await once(child, 'exit')
  process.off('exit', end)
  return code === 0
}

function say({ file, text, replacement }: Mutant, outcome: Outcome): void {
  if (outcome === 'killed') return
  const [line = ''] = text.split('\n')
  process.stdout.write(`${outcome}: ${file}\n    ${line}\n    → ${replacement.split('\n')[0]}\n`)
}

function report(chosen: readonly Mutant[], outcomes: readonly Outcome[]): void {
  const count = (wanted: Outcome) => outcomes.filter((outcome) => outcome === wanted).length
  const wrong = chosen.filter(({ lives }, at) =>
    lives === undefined ? outcomes[at] === 'lives' : outcomes[at] === 'killed',
  )
  const explained = chosen.filter(
    ({ lives }, at) => lives !== undefined && outcomes[at] === 'lives',
  )
  process.stdout.write(
    `${chosen.length} mutants: ${count('killed')} killed, ${explained.length} live and are explained, ${count('not run')} not run\n`,
  )
  for (const { file, text, lives } of wrong) {
    const why = lives === undefined ? 'no test noticed' : 'it is explained, and was killed'
    process.stdout.write(`- ${why}: ${file}: ${text.split('\n')[0]}\n`)
  }
  for (const test of unsound) process.stdout.write(`- ${test} fails without any mutant\n`)
  // `npm test` says so of a file that fails; here, a machine that is too busy for it fails nothing.
  if (wrong.length > 0 || (unsound.size > 0 && !isContinuousIntegration)) process.exitCode = 1
}

// Whoever stops it stops the tests that run.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
await main()
