import { once } from 'node:events'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'

import { readConfig } from '../src/config/config.ts'
import { readCampusFolder } from '../src/ops/import/campus-folder.ts'
import { demoPeople } from '../src/ops/import/demo-campus.ts'
import { paths } from '../src/platform/http/paths.ts'
import { configurationOf, type SuiteConfiguration } from './configuration.ts'
import { drive } from './drive.ts'
import { readFapiClients } from './fapi-clients.ts'
import { type Options, readOptions, usage } from './options.ts'
import { SUITE_LOGIN } from './person.ts'
import { expectedOf, planNames, plans, type Wants, wantsOf } from './plans.ts'
import { rotateServedKeys } from './rotation.ts'
import { serveOverHttps } from './serve.ts'
import { openSuite } from './suite.ts'
import { trustSuite } from './trust-suite.ts'

// Runs `npm run conformance`, which tests this service with the OpenID Foundation's suite (docs/conformance.md).

const configFolder = join(import.meta.dirname, '../config')
const MODULE_TIMEOUT_MS = 4 * 60_000

type Serve = Extract<Options, { command: 'serve' }>
type PlanRun = Extract<Options, { command: 'plan' }>

async function main(words: readonly string[]): Promise<void> {
  const options = understood(words)
  if (options === undefined) return
  try {
    if (options.command === 'help') process.stdout.write(usage)
    else if (options.command === 'serve') await serve(options)
    else await plan(options)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}

function understood(words: readonly string[]): Options | undefined {
  try {
    return readOptions(words)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`)
    process.exitCode = 2
    return undefined
  }
}

async function serve(options: Serve): Promise<void> {
  const { baseUrl, port, insecure, plan: name } = options
  const { alias, ...settings } = readSettings()
  const suiteBaseUrl = options.suiteBaseUrl ?? settings.suiteBaseUrl
  const wants = wantsOf(name)
  if (wants.furtherPlans && insecure) await trustSuite(suiteBaseUrl)
  await using served = await serveOverHttps({ port, baseUrl, suiteBaseUrl, alias, wants })
  const person = await findPerson()
  const clients = [
    ...(served.config.conformance?.clients ?? []).map((client) => [
      client.client_id,
      client.token_endpoint_auth_method,
    ]),
    ...(readFapiClients(served.folder) ?? []).map((client) => [
      client.client_id,
      'private_key_jwt',
    ]),
  ]
  const data = `--data ${served.folder}`
  const others = planNames.filter((other) => !isDeepStrictEqual(wantsOf(other), wants))
  const same = `--base-url ${baseUrl} --suite-base-url ${suiteBaseUrl}`
  process.stdout.write(`Gatehouse serves ${baseUrl} with ${described(wants)}
  issuer       ${baseUrl}
  discovery    ${baseUrl}${paths.openidConfiguration}
  suite        ${suiteBaseUrl} (must be equal to the suite's own base URL)
  certificate  ${join(served.folder, 'certificate.pem')}
  person       ${person.login}  ${person.password}
${clients.map(([id, method]) => `  client       ${id}  ${method}`).join('\n')}
Next, in another terminal:
  to paste     npm run conformance -- plan ${name} ${same}${name === 'fapi2' ? ` ${data}` : ''}
  to run       npm run conformance -- plan ${name} ${same} --suite ${suiteBaseUrl} --insecure ${data}
Plans: ${planNames.filter((other) => !others.includes(other)).join(', ')}. For ${others.join(', ')}, restart it with --for. Ctrl-C stops the service and removes its folder.
`)
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
}

function described({ profile, furtherPlans }: Wants): string {
  const parts = [profile && 'the conformance profile', furtherPlans && 'every further plan']
  return parts.filter((part) => part !== false).join(' and ')
}

async function plan(options: PlanRun): Promise<void> {
  const settings = readSettings()
  const suiteBaseUrl = options.suiteBaseUrl ?? settings.suiteBaseUrl
  const configuration = configurationOf(options.plan, {
    baseUrl: options.baseUrl,
    settings: { ...settings, suiteBaseUrl },
    person: await findPerson(),
    fapiClients: options.data === undefined ? undefined : readFapiClients(options.data),
  })
  if (options.suite) await run(options, { suiteBaseUrl, configuration })
  else print(options, configuration)
}

function print({ plan: name, bare }: PlanRun, configuration: SuiteConfiguration): void {
  const { name: planName, variant } = plans[name]
  const text = `${JSON.stringify(configuration, null, 2)}\n`
  process.stdout.write(
    bare
      ? text
      : `Plan: ${planName}\nVariant: ${JSON.stringify(variant)}\nConfiguration (the JSON tab):\n${text}`,
  )
}

async function run(
  options: PlanRun,
  about: { readonly suiteBaseUrl: string; readonly configuration: SuiteConfiguration },
): Promise<void> {
  const { plan: name, baseUrl, data: folder } = options
  const { suiteBaseUrl, configuration } = about
  if (!options.suite) return
  const say = (line: string) => void process.stdout.write(`${line}\n`)
  const suite = openSuite(options.suite)
  say(`Suite: ${await suite.version()}`)
  const report = await drive(suite, {
    plan: plans[name],
    configuration,
    expected: expectedOf(name),
    rotateKeys: () => rotateServedKeys({ baseUrl, suiteBaseUrl, folder, say }),
    say,
    moduleTimeoutMs: MODULE_TIMEOUT_MS,
  })
  say([...report.counted].map(([ending, count]) => `${count} ${ending}`).join(', '))
  say(`${options.suite.url}/plan-detail.html?plan=${report.planId}`)
  for (const difference of report.differences) say(difference)
  if (report.differences.length > 0) process.exitCode = 1
}

/** Reads the settings of the conformance profile. They do not depend on the service's URLs. */
function readSettings() {
  const { conformance } = readConfig({ CONFORMANCE_PROFILE: 'on' }, configFolder)
  if (!conformance) throw new Error('config/conformance.json is missing.')
  return conformance
}

async function findPerson(): Promise<{ readonly login: string; readonly password: string }> {
  const people = demoPeople(await readCampusFolder(join(configFolder, 'demo')))
  const person = people.find(({ login }) => login === SUITE_LOGIN)
  if (!person) throw new Error(`config/demo has no ${SUITE_LOGIN}.`)
  return person
}

await main(process.argv.slice(2))
