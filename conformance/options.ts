import { parseArgs } from 'node:util'

import { type PlanName, planNames, plans } from './plans.ts'

export const usage = `npm run conformance -- serve [options]
npm run conformance -- plan ${planNames.join('|')} [options]

serve starts the service for the OpenID Foundation's suite: over https, with a certificate of its own,
the conformance profile and the demo campus, in a temporary folder. It says what to do next.

plan prints what the suite has to be told: the plan's name, its variant, its configuration. With
--suite it runs the plan in a running suite, and compares the results with conformance/expected.json.
It ends with 0 when they are the same, with 1 when one differs, with 2 when it was not understood.

${planNames.map((name) => `  ${name.padEnd(20)}${plans[name].meaning}`).join('\n')}

  --port N            port of serve (3443)
  --base-url URL      the service's issuer (https://localhost:PORT)
  --suite-base-url URL
                      the suite's own base URL, to the letter (https://localhost.emobix.co.uk:8443)
  --for PLAN          the plan for which serve turns on what it needs (basic); backchannel and fapi2
                      have needs of their own, the others share theirs
  --suite URL         where the suite answers this command, if it is to run the plan
  --token TEXT        a token of the suite's API; one in development mode wants none
  --insecure          takes the suite's certificate as it is, for one on this machine; serve takes it
                      when it starts, for what it tells the suite of sign-outs
  --data FOLDER       the folder that serve has named; where the suite waits for another signing key,
                      the keys in it are rotated. Without it you are asked to do that. The
                      private keys of the plan fapi2 are in it, too
  --configuration     prints the configuration alone, for a file
  --help              this text
`

export type Options =
  | { readonly command: 'help' }
  | ({
      readonly command: 'serve'
      readonly port: number
      /** For which plan. */
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
  /** Of config/conformance.json, when it is not given. */
  readonly suiteBaseUrl: string | undefined
}

interface SuiteOptions {
  readonly url: string
  readonly token: string | undefined
  readonly insecure: boolean
}

const PORT = 3443

/** @throws Error with a sentence for the person who typed the words */
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

/** The suite wants https for every address, and an issuer has nothing behind its port. */
function httpsOrigin(option: string, value: string): string {
  const url = URL.parse(value)
  if (url?.protocol === 'https:' && url.origin === bare(value)) return url.origin
  throw new Error(`${option} must be an https address without a path, like https://localhost:3443.`)
}

function bare<Address extends string | undefined>(address: Address) {
  return address?.replace(/\/$/, '') as Address
}
