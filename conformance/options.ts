import { parseArgs } from 'node:util'

import { type PlanName, planNames, plans } from './plans.ts'

export const usage = `npm run conformance -- serve [options]
npm run conformance -- plan ${planNames.join('|')} [options]

serve starts the service for the OpenID Foundation's suite: over https, with a self-signed certificate,
the conformance profile and the demo campus, in a temporary folder. It prints the next steps.

plan prints what to enter in the suite: the plan's name, its variant and its configuration. With
--suite, it runs the plan in a running suite and compares the results with conformance/expected.json.
Exit codes: 0 if all results are as expected, 1 if one differs, 2 for invalid arguments.

${planNames.map((name) => `  ${name.padEnd(20)}${plans[name].meaning}`).join('\n')}

  --port N            the port of serve (3443)
  --base-url URL      the service's issuer (https://localhost:PORT)
  --suite-base-url URL
                      the suite's own base URL, exactly (https://localhost.emobix.co.uk:8443)
  --for PLAN          the plan for which serve enables protocols (basic). backchannel and fapi2 need
                      more than the other plans
  --suite URL         runs the plan in the suite at this URL
  --token TEXT        a token for the suite's API; not needed in development mode
  --insecure          accepts any certificate of the suite, which is self-signed on a local machine.
                      serve also needs it, to send sign-out notices
  --data FOLDER       the folder that serve printed. plan rotates the keys in it when the suite waits
                      for a new key; without the folder, it asks you to. Also contains the private
                      keys of the plan fapi2
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
      readonly suite: SuiteOptions | undefined
      readonly data: string | undefined
      readonly bare: boolean
    } & Addresses)

interface Addresses {
  readonly baseUrl: string
  /** By default, the one in config/conformance.json. */
  readonly suiteBaseUrl: string | undefined
}

interface SuiteOptions {
  readonly url: string
  readonly token: string | undefined
  readonly insecure: boolean
}

const PORT = 3443

/** Parses the command line. @throws Error with a sentence for the user */
export function readOptions(words: readonly string[]): Options {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      ...{ port: text, 'base-url': text, 'suite-base-url': text, suite: text, token: text },
      ...{ data: text, insecure: flag, for: text, configuration: flag, help: flag },
    },
  })
  const [command, name, ...more] = positionals
  if (values.help || command === undefined) return { command: 'help' }
  const port = Number(values.port ?? PORT)
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new Error('--port must be a number from 1 to 65535.')
  }
  const addresses = {
    baseUrl: httpsOrigin('--base-url', values['base-url'] ?? `https://localhost:${port}`),
    suiteBaseUrl: bare(values['suite-base-url']),
  }
  const { insecure } = values
  if (command === 'serve' && name === undefined) {
    return { command, port, insecure, plan: planNamed(values.for ?? 'basic'), ...addresses }
  }
  if (command !== 'plan' || more.length > 0) {
    throw new Error(`There is no such command: ${positionals.join(' ')}`)
  }
  const plan = planNamed(name)
  const suite = bare(values.suite)
  const { token, data, configuration } = values
  return {
    ...{ command, plan, data, bare: configuration, ...addresses },
    suite: suite === undefined ? undefined : { url: suite, token, insecure },
  }
}

function planNamed(name: string | undefined): PlanName {
  const plan = planNames.find((known) => known === name)
  if (plan) return plan
  throw new Error(`There is no plan ${name ?? ''}. Plans: ${planNames.join(', ')}.`)
}

/**
 * Returns the origin of an https URL.
 *
 * @throws Error for any other URL, because the suite requires https and an issuer has no path
 */
function httpsOrigin(option: string, value: string): string {
  const url = URL.parse(value)
  if (url?.protocol === 'https:' && url.origin === bare(value)) return url.origin
  throw new Error(`${option} must be an https address without a path, like https://localhost:3443.`)
}

function bare<Address extends string | undefined>(address: Address) {
  return address?.replace(/\/$/, '') as Address
}
