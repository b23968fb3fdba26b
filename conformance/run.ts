import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { ConformanceSettings } from '../src/oauth/authorization/conformance-profile.ts'
import type { ServiceAddress } from './ask.ts'
import { type About, configurationOf } from './configuration.ts'
import { drive, type PlanRun, readAgain } from './drive.ts'
import { readKeyClients } from './key-clients.ts'
import type { ChosenPlan } from './options.ts'
import { expectedOf, type PlanName, planNames, plans, serviceOf } from './plans.ts'
import { type Finished, summaryOf } from './report.ts'
import { rotateServedKeys } from './rotation.ts'
import { type ServedOverHttps, serveOverHttps } from './serve.ts'
import type { Suite } from './suite.ts'

const MODULE_TIMEOUT_MS = 4 * 60_000

/** What all plans of a run share. `runAll` gives each plan an alias of its own. */
export interface Setting {
  readonly suite: Suite
  readonly person: About['person']
  readonly settings: ConformanceSettings
  readonly say: (line: string) => void
  readonly signal?: AbortSignal
}

/** Runs one plan against a running service. */
export async function runPlan(
  { plan, only }: ChosenPlan,
  { baseUrl, folder, insecure = false }: ServiceAddress,
  { suite, person, settings, say, signal }: Setting,
): Promise<PlanRun> {
  const { suiteBaseUrl } = settings
  const keyClients = folder === undefined ? undefined : readKeyClients(folder)
  return await drive(suite, {
    plan: plans[plan],
    configuration: configurationOf(plan, { baseUrl, settings, person, keyClients }),
    expected: expectedOf(plan),
    only,
    rotateKeys: () => rotateServedKeys({ baseUrl, suiteBaseUrl, folder, insecure, say }),
    say,
    moduleTimeoutMs: MODULE_TIMEOUT_MS,
    ...(signal && { signal }),
  })
}

export interface RunAll {
  readonly chosen: readonly ChosenPlan[]
  readonly atOnce: number
  /** The issuer for the first plan in `plans`. The services of the other plans use the following ports. */
  readonly baseUrl: string
}

/**
 * Starts a service with its own alias for each plan, and runs several plans at the same time. Stops the services after
 * the last plan, because they may still repeat sign-out notices.
 */
export async function runAll(
  { chosen, atOnce, baseUrl }: RunAll,
  setting: Setting,
): Promise<readonly Finished[]> {
  await using served = new AsyncDisposableStack()
  const finished = new Map<PlanName, Finished>()
  const waiting = chosen.toSorted((one, other) => weightOf(other.plan) - weightOf(one.plan))
  const runNext = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { plan } = next
      const own = ownSetting(plan, setting)
      const started = performance.now()
      const run = await startFor(plan, baseUrl, own)
        .then((service) => {
          served.use(service)
          return runPlan(next, service, own)
        })
        .catch((error: Error): PlanRun => {
          const seconds = (performance.now() - started) / 1000
          return { planId: undefined, modules: [], seconds, problem: error.message }
        })
      finished.set(plan, { ...next, run })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, runNext))
  return await reread([...finished.values()], setting)
}

/** Returns the priority of a plan. Long plans start first, but after `backchannel`, whose results may change late. */
function weightOf(plan: PlanName): number {
  return serviceOf(plan) === 'backchannel' ? Number.POSITIVE_INFINITY : expectedOf(plan).size
}

function ownSetting(plan: PlanName, { settings, say, ...setting }: Setting): Setting {
  return {
    ...setting,
    settings: { ...settings, alias: `${settings.alias}-${plan}` },
    say: (line) => say(`${plan.padEnd(12)} ${line}`),
  }
}

async function startFor(
  plan: PlanName,
  first: string,
  { settings: { suiteBaseUrl, alias } }: Setting,
): Promise<ServedOverHttps> {
  const url = new URL(first)
  const port = Number(url.port || 443) + planNames.indexOf(plan)
  url.port = String(port)
  const baseUrl = url.origin
  return await serveOverHttps({ port, baseUrl, suiteBaseUrl, alias, kind: serviceOf(plan) })
}

/** Reads all results from the suite again, and returns them in the order of `plans`. */
export async function reread(
  finished: readonly Finished[],
  { suite, say }: Setting,
): Promise<readonly Finished[]> {
  const read: Finished[] = []
  for (const plan of planNames) {
    const found = finished.find((each) => each.plan === plan)
    if (found) read.push({ ...found, run: await readAgain(suite, found.run, say) })
  }
  return read
}

/** Saves the logs of each plan. @returns a sentence for each plan whose logs could not be saved */
async function exportAll(
  suite: Suite,
  folder: string,
  finished: readonly Finished[],
): Promise<readonly string[]> {
  mkdirSync(folder, { recursive: true })
  const problems: string[] = []
  for (const { plan, run } of finished) {
    if (run.planId === undefined) continue
    try {
      writeFileSync(join(folder, `${plan}.zip`), await suite.exportPlan(run.planId))
    } catch (error) {
      problems.push(`${plan} could not be exported: ${String(error)}`)
    }
  }
  return problems
}

/** Prints the summary, and saves logs if requested. @returns whether all results are as expected and logs are saved */
export async function conclude(
  finished: readonly Finished[],
  { suite, say }: Setting,
  about: { readonly startedMs: number; readonly exportFolder: string | undefined },
): Promise<boolean> {
  const { startedMs, exportFolder } = about
  const problems = exportFolder === undefined ? [] : await exportAll(suite, exportFolder, finished)
  const seconds = (performance.now() - startedMs) / 1000
  const { lines, isExpected } = summaryOf(suite, finished, seconds)
  for (const line of [...lines, ...problems]) say(line)
  if (exportFolder !== undefined) say(`Logs: ${exportFolder}`)
  return isExpected && problems.length === 0
}
