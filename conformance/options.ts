import { parseArgs } from 'node:util'

import { type PlanName, planNames, plans } from './plans.ts'

export const usage = `npm run conformance -- run --suite URL [options]
npm run conformance -- serve [options]
npm run conformance -- plan ${planNames.join('|')} [options]

run runs all plans: it starts a service for each plan, runs the plan in a running suite, and compares the
results with conformance/expected.json. It lists the pages that a person must review.

serve starts one service for the OpenID Foundation's suite: over https, with a self-signed certificate and
the demo campus, in a temporary folder. It prints the next steps.

plan prints what to enter in the suite: the plan's name, its variant and its configuration. With
--suite, it runs the plan in a running suite, against a service that is already running.

Exit codes of run and plan: 0 if all results are as expected, 1 if one differs, 2 for invalid arguments.

${planNames.map((name) => `  ${name.padEnd(20)}${plans[name].meaning}`).join('\n')}

  --suite URL         runs the plans in the suite at this URL
  --suite-base-url URL
                      the suite's own base URL, exactly (that of --suite, or
                      https://localhost.emobix.co.uk:8443)
  --token TEXT        a token for the suite's API; not needed in development mode
  --insecure          accepts any certificate of the suite, which is self-signed on a local machine
  --alias NAME        the name of the service in the suite (gatehouse), the same for serve and plan. Two
                      runs with the same alias interrupt each other's modules
  --only PLAN[/MODULE]
                      runs only this plan or module; can be repeated. For plan: --only MODULE
  --export FOLDER     saves the suite's signed logs of each plan in the folder
  --port N            the port of serve (3443); run uses this and the following ports
  --base-url URL      the service's issuer (https://localhost:PORT); for run, that of the first service
  --at-once N         the number of plans that run at the same time (3)
  --for PLAN          the plan for which serve starts a service (basic)
  --data FOLDER       the folder that serve printed. plan rotates its keys when the suite waits for a
                      new key; without the folder, plan asks you to. The folder also contains the
                      private keys of the clients of fapi2, fapi2-id2 and all-keys
  --configuration     prints only the configuration, to save it in a file
  --help              prints this text
`

export type Options =
  | { readonly command: 'help' }
  | ({
      readonly command: 'serve'
      readonly port: number
      /** The plan for which `serve` enables protocols. */
      readonly plan: PlanName
      readonly insecure: boolean
    } & Addresses)
  | ({
      readonly command: 'plan'
      readonly plan: PlanName
      /** The modules to run; all if empty. */
      readonly only: readonly string[]
      readonly suite: SuiteOptions | undefined
      readonly data: string | undefined
      readonly bare: boolean
      readonly exportFolder: string | undefined
    } & Addresses)
  | ({
      readonly command: 'run'
      readonly plans: readonly ChosenPlan[]
      readonly suite: SuiteOptions
      readonly atOnce: number
      readonly exportFolder: string | undefined
    } & Addresses)

/** A plan and its modules to run; all modules if empty. */
export interface ChosenPlan {
  readonly plan: PlanName
  readonly only: readonly string[]
}

interface Addresses {
  readonly baseUrl: string
  /** By default, the one in config/conformance.json. */
  readonly suiteBaseUrl: string | undefined
  readonly alias: string | undefined
}

export interface SuiteOptions {
  readonly url: string
  readonly token: string | undefined
  readonly insecure: boolean
}

const PORT = 3443
const AT_ONCE = 3

const text = { type: 'string' } as const
const flag = { type: 'boolean', default: false } as const

/** Parses the command line. @throws Error with a sentence for the user */
export function readOptions(words: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      ...{ port: text, 'base-url': text, 'suite-base-url': text, suite: text, token: text },
      ...{ data: text, insecure: flag, for: text, configuration: flag, help: flag, alias: text },
      ...{ export: text, 'at-once': text, only: { type: 'string', multiple: true, default: [] } },
    },
  })
  const [command, name, ...more] = positionals
  if (values.help || command === undefined) return { command: 'help' }
  const { port, ...addresses } = addressesOf(values)
  const { insecure, token, data, only, export: exportFolder } = values
  const suite = bare(values.suite)
  const asked = suite ? { url: suite, token, insecure } : undefined
  if (command === 'serve' && name === undefined) {
    return { command, port, insecure, plan: planNamed(values.for ?? 'basic'), ...addresses }
  }
  if (command === 'run' && name === undefined) {
    if (!asked) throw new Error('run needs --suite: the URL of a running suite.')
    const atOnce = numberOf('--at-once', values['at-once'] ?? String(AT_ONCE), 20)
    return { command, plans: chosen(only), suite: asked, atOnce, exportFolder, ...addresses }
  }
  if (command !== 'plan' || more.length > 0) {
    throw new Error(`There is no such command: ${positionals.join(' ')}`)
  }
  const plan = planNamed(name)
  const bareJson = values.configuration
  return { command, plan, data, only, bare: bareJson, suite: asked, exportFolder, ...addresses }
}

interface Given {
  readonly port?: string | undefined
  readonly suite?: string | undefined
  readonly alias?: string | undefined
  readonly 'base-url'?: string | undefined
  readonly 'suite-base-url'?: string | undefined
}

function addressesOf(values: Given): Addresses & { readonly port: number } {
  const port = numberOf('--port', values.port ?? String(PORT), 65_535)
  return {
    port,
    baseUrl: httpsOrigin('--base-url', values['base-url'] ?? `https://localhost:${port}`),
    suiteBaseUrl: bare(values['suite-base-url'] ?? values.suite),
    alias: aliasOf(values.alias),
  }
}

function chosen(only: readonly string[]): readonly ChosenPlan[] {
  if (only.length === 0) return planNames.map((plan) => ({ plan, only }))
  const parts = only.map((each) => each.split('/'))
  return [...Map.groupBy(parts, ([name]) => planNamed(name))].map(([plan, all]) => {
    const modules = all.flatMap(([, ...module]) => (module.length > 0 ? [module.join('/')] : []))
    // If the plan is also given without a module, run all its modules.
    return { plan, only: modules.length === all.length ? modules : [] }
  })
}

function planNamed(name: string | undefined): PlanName {
  const plan = planNames.find((known) => known === name)
  if (plan) return plan
  throw new Error(`There is no plan ${name ?? ''}. Plans: ${planNames.join(', ')}.`)
}

function numberOf(option: string, value: string, max: number): number {
  const number = Number(value)
  if (Number.isInteger(number) && number >= 1 && number <= max) return number
  throw new Error(`${option} must be a number from 1 to ${max}.`)
}

/** Validates the alias, which is part of URLs of the suite. */
function aliasOf(alias: string | undefined): string | undefined {
  if (alias === undefined || /^[a-zA-Z0-9_-]+$/.test(alias)) return alias
  throw new Error('--alias must consist of letters, digits, - and _.')
}

/**
 * Returns the origin of an https URL.
 *
 * @throws Error for any other URL, because the suite requires https, and the issuer of this service has no path
 */
function httpsOrigin(option: string, value: string): string {
  const url = URL.parse(value)
  if (url?.protocol === 'https:' && url.origin === bare(value)) return url.origin
  throw new Error(`${option} must be an https address without a path, like https://localhost:3443.`)
}

function bare<Address extends string | undefined>(address: Address) {
  return address?.replace(/\/$/, '') as Address
}
