/** `npm run test:mutants`: fails for a mutant that survives without an explanation, or is killed despite one. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { endWithTests, isContinuousIntegration, temporaryFolder } from '../support/programs.ts'
import { cached } from '../support/shared.ts'
import { type Mutant, mutants } from './table.ts'

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    /** Runs only this number of mutants, spread over the table. Another seed chooses other mutants. */
    sample: { type: 'string' },
    seed: { type: 'string', default: '0' },
    /** Ends the run after this time, and reports how many mutants were not run. */
    minutes: { type: 'string', default: '60' },
    atOnce: { type: 'string', default: '2' },
  },
})

const root = join(import.meta.dirname, '../..')
const TEST_TIMEOUT_MS = 180_000
const copied = [
  ...['src', 'test', 'views', 'tools', 'config', 'docs', 'conformance', 'bench', 'examples'],
  'package.json',
]

type Outcome = 'killed' | 'lives' | 'not run'

const unsound = new Set<string>()

async function main(): Promise<void> {
  const endsAt = Date.now() + Number(options.minutes) * 60_000
  const all = mutants.filter(({ file }) => file.includes(options.only))
  const every = Math.max(1, Math.floor(all.length / Number(options.sample ?? all.length)))
  const chosen = all.filter((_, at) => (at + Number(options.seed)) % every === 0)
  const waiting = chosen.values()
  const outcomes = new Map<Mutant, Outcome>()
  const work = async () => {
    const tree = copyTree()
    const isSound = cached((test: string) => passesInTwo(tree, test))
    for (const mutant of waiting) {
      if (Date.now() > endsAt) return
      const outcome = await judge(tree, mutant, isSound)
      outcomes.set(mutant, outcome)
      say(mutant, outcome)
    }
  }
  await Promise.all(Array.from({ length: Number(options.atOnce) }, work))
  report(Object.groupBy(chosen, (mutant) => outcomes.get(mutant) ?? 'not run'))
}

function copyTree(): string {
  const tree = temporaryFolder()
  for (const name of copied) cpSync(join(root, name), join(tree, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'))
  return tree
}

type Look = (test: string) => Promise<boolean>

async function judge(tree: string, mutant: Mutant, isSound: Look): Promise<Outcome> {
  const file = join(tree, mutant.file)
  const source = readFileSync(file, 'utf8')
  if (source.split(mutant.text).length !== 2) {
    throw new Error(`${mutant.file} must contain this text exactly once: ${mutant.text}`)
  }
  for (const test of mutant.tests) {
    if (await isSound(test)) continue
    unsound.add(test)
    return 'not run'
  }
  writeFileSync(
    file,
    source.replace(mutant.text, () => mutant.replacement),
  )
  try {
    // A busy machine must not kill an explained mutant.
    const look = mutant.lives === undefined ? passes : passesInTwo
    for (const test of mutant.tests) if (!(await look(tree, test))) return 'killed'
    return 'lives'
  } finally {
    writeFileSync(file, source)
  }
}

/** Tries twice, because a busy machine can make a test fail once. */
async function passesInTwo(tree: string, test: string): Promise<boolean> {
  return (await passes(tree, test)) || (await passes(tree, test))
}

/** Whether a test file passes in time. A mutant with which it hangs counts as killed. */
async function passes(tree: string, test: string): Promise<boolean> {
  const require = '--require test/support/expect.ts'
  const words = `--exit --no-package ${require} --bail --timeout 60000 --reporter dot`.split(' ')
  const child = spawn(process.execPath, ['node_modules/mocha/bin/mocha.js', ...words, test], {
    cwd: tree,
    // Some mutants are killed on PostgreSQL or Redis only.
    // biome-ignore lint/style/noProcessEnv: tests find programs by these variables
    env: { ...process.env, TEST_STORES: 'all' },
    stdio: 'ignore',
    timeout: TEST_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  })
  const [code] = await once(endWithTests(child), 'exit')
  return code === 0
}

function say({ file, text, replacement }: Mutant, outcome: Outcome): void {
  if (outcome === 'killed') return
  const [line = ''] = text.split('\n')
  process.stdout.write(`${outcome}: ${file}\n    ${line}\n    → ${replacement.split('\n')[0]}\n`)
}

function report(outcomes: Partial<Record<Outcome, Mutant[]>>): void {
  const { killed = [], lives = [], 'not run': left = [] } = outcomes
  const missed = lives.filter((mutant) => mutant.lives === undefined)
  const noticed = killed.filter((mutant) => mutant.lives !== undefined)
  const [count, explained] = [
    killed.length + lives.length + left.length,
    lives.length - missed.length,
  ]
  process.stdout.write(
    `${count} mutants: ${killed.length} killed, ${explained} live and are explained, ${left.length} not run\n`,
  )
  for (const { file, text, lives: why } of [...missed, ...noticed]) {
    const problem = why === undefined ? 'no test noticed' : 'it is explained, and was killed'
    process.stdout.write(`- ${problem}: ${file}: ${text.split('\n')[0]}\n`)
  }
  for (const test of unsound) process.stdout.write(`- ${test} fails without any mutant\n`)
  // In CI, `npm test` reports failing test files, and a busy machine must not fail this run.
  if (missed.length + noticed.length > 0 || (unsound.size > 0 && !isContinuousIntegration))
    process.exitCode = 1
}

await main()
