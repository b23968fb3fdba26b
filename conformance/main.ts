/** `npm run conformance`: tests this service with the OpenID Foundation's suite (docs/conformance.md). */

import { once } from 'node:events'
import { join } from 'node:path'

import { readConfig } from '../src/config/config.ts'
import { demoPeople, readDemo } from '../src/ops/import/demo-campus.ts'
import { paths } from '../src/platform/http/paths.ts'
import { configurationOf, isKeyed } from './configuration.ts'
import { demandFit } from './fit.ts'
import { readKeyClients } from './key-clients.ts'
import { type Options, readOptions, type SuiteOptions, usage } from './options.ts'
import { SUITE_LOGIN } from './person.ts'
import { planNames, plans, serviceOf } from './plans.ts'
import { conclude, reread, runAll, runPlan, type Setting } from './run.ts'
import { serveOverHttps } from './serve.ts'
import { openSuite } from './suite.ts'
import { trustSuite } from './trust-suite.ts'

const configFolder = join(import.meta.dirname, '../config')

type Serve = Extract<Options, { command: 'serve' }>
type PlanCommand = Extract<Options, { command: 'plan' }>
type RunCommand = Extract<Options, { command: 'run' }>

async function main(words: readonly string[]): Promise<void> {
  const options = understood(words)
  if (options === undefined) return
  try {
    if (options.command === 'help') process.stdout.write(usage)
    else if (options.command === 'serve') await serve(options)
    else if (options.command === 'run') await run(options)
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
  const { baseUrl, port, insecure, plan } = options
  const kind = serviceOf(plan)
  const { alias, suiteBaseUrl } = readSettings(options)
  if (kind === 'backchannel' && insecure) await trustSuite(suiteBaseUrl)
  await using served = await serveOverHttps({ port, baseUrl, suiteBaseUrl, alias, kind })
  const person = await findPerson()
  const clients = [
    ...(served.config.conformance?.clients ?? []).map((client) => [
      client.client_id,
      client.token_endpoint_auth_method,
    ]),
    ...(kind === 'fapi2' ? (readKeyClients(served.folder) ?? []) : []).map((client) => [
      client.client_id,
      'private_key_jwt',
    ]),
  ]
  const data = `--data ${served.folder}`
  const same = `--base-url ${baseUrl} --suite-base-url ${suiteBaseUrl} --alias ${alias}`
  process.stdout.write(`Gatehouse serves ${baseUrl} for ${planNames.filter((each) => serviceOf(each) === kind).join(', ')}
  issuer       ${baseUrl}
  discovery    ${baseUrl}${paths.openidConfiguration}
  suite        ${suiteBaseUrl} (must equal the suite's own base URL)
  certificate  ${join(served.folder, 'certificate.pem')}
  person       ${person.login}  ${person.password}
${clients.map(([id, method]) => `  client       ${id}  ${method}`).join('\n')}
Next, in another terminal:
  to paste     npm run conformance -- plan ${plan} ${same}${isKeyed(plan) ? ` ${data}` : ''}
  to run       npm run conformance -- plan ${plan} ${same} --suite ${suiteBaseUrl} --insecure ${data}
For other plans, start serve --for PLAN. Ctrl-C stops the service and removes its folder.
`)
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
}

async function plan(options: PlanCommand): Promise<void> {
  const { plan: name, baseUrl, data: folder } = options
  if (!options.suite) return await print(options)
  const startedMs = performance.now()
  const setting = await settingOf(options, options.suite)
  const target = { baseUrl, folder, insecure: options.suite.insecure }
  await demandFit(name, target)
  const run = await runPlan({ plan: name, only: options.only }, target, setting)
  const finished = await reread([{ plan: name, only: options.only, run }], setting)
  const isExpected = await conclude(finished, setting, { ...options, startedMs })
  if (!isExpected) process.exitCode = 1
}

async function print({ plan: name, bare, baseUrl, data, ...given }: PlanCommand): Promise<void> {
  const { name: planName, variant } = plans[name]
  const configuration = configurationOf(name, {
    ...{ baseUrl, settings: readSettings(given), person: await findPerson() },
    keyClients: data === undefined ? undefined : readKeyClients(data),
  })
  const text = `${JSON.stringify(configuration, null, 2)}\n`
  process.stdout.write(
    bare
      ? text
      : `Plan: ${planName}\nVariant: ${JSON.stringify(variant)}\nConfiguration (the JSON tab):\n${text}`,
  )
}

/** Runs the chosen plans. After Ctrl-C, finishes the current modules and prints the summary. */
async function run(options: RunCommand): Promise<void> {
  const startedMs = performance.now()
  const { baseUrl, atOnce, suite, plans: chosen } = options
  const stopping = new AbortController()
  process.once('SIGINT', () => stopping.abort())
  const setting = { ...(await settingOf(options, suite)), signal: stopping.signal }
  if (suite.insecure) await trustSuite(setting.settings.suiteBaseUrl)
  const finished = await runAll({ chosen, atOnce, baseUrl }, setting)
  const isExpected = await conclude(finished, setting, { ...options, startedMs })
  if (!isExpected) process.exitCode = 1
}

async function settingOf(given: Given, asked: SuiteOptions): Promise<Setting> {
  const say = (line: string) => void process.stdout.write(`${line}\n`)
  const suite = openSuite(asked)
  say(`Suite: ${await suite.version()}`)
  return { suite, say, settings: readSettings(given), person: await findPerson() }
}

type Given = Pick<PlanCommand, 'suiteBaseUrl' | 'alias'>

/** Reads the settings of the conformance profile. Options replace the suite's URL and the alias. */
function readSettings({ suiteBaseUrl, alias }: Given) {
  const { conformance } = readConfig({ CONFORMANCE_PROFILE: 'on' }, configFolder)
  if (!conformance) throw new Error('config/conformance.json is missing.')
  return {
    ...conformance,
    ...(suiteBaseUrl !== undefined && { suiteBaseUrl }),
    ...(alias !== undefined && { alias }),
  }
}

async function findPerson(): Promise<{ readonly login: string; readonly password: string }> {
  const people = demoPeople(await readDemo(join(configFolder, 'demo')))
  const person = people.find(({ login }) => login === SUITE_LOGIN)
  if (!person) throw new Error(`config/demo has no ${SUITE_LOGIN}.`)
  return person
}

await main(process.argv.slice(2))
