import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'

import { type CryptoKey, exportJWK, generateKeyPair, importJWK } from 'jose'
import type { Page } from 'playwright-core'

import { ask, askService } from '../../conformance/ask.ts'
import { makeCertificate } from '../../conformance/certificate.ts'
import {
  type Command,
  configurationOf,
  type SuiteConfiguration,
  type Visit,
} from '../../conformance/configuration.ts'
import { drive, readAgain } from '../../conformance/drive.ts'
import { demandFit } from '../../conformance/fit.ts'
import { type KeyClient, readKeyClients } from '../../conformance/key-clients.ts'
import { readOptions } from '../../conformance/options.ts'
import {
  expectedOf,
  planNames,
  plans,
  type Result,
  type ServiceKind,
} from '../../conformance/plans.ts'
import { differencesOf } from '../../conformance/report.ts'
import { rotateServedKeys } from '../../conformance/rotation.ts'
import { readCertificate, type ServedOverHttps, serveOverHttps } from '../../conformance/serve.ts'
import { openSuite } from '../../conformance/suite.ts'
import { trustSuite } from '../../conformance/trust-suite.ts'
import { makeConformanceProfile } from '../../src/oauth/authorization/conformance-profile.ts'
import { sharedBrowser } from '../support/browser.ts'
import { authorizeUrl } from '../support/client.ts'
import { sam } from '../support/gatehouse.ts'
import { runConformance } from '../support/process.ts'
import { freePort, temporaryFolder } from '../support/programs.ts'
import { byAssertion, signAssertion } from '../support/proofs.ts'
import { shared } from '../support/shared.ts'
import { type ModuleScript, type SuiteServer, startSuite } from '../support/suite.ts'
import { encode } from '../support/wire.ts'

const root = join(import.meta.dirname, '../..')
const settings = JSON.parse(readFileSync(join(root, 'config/conformance.json'), 'utf8'))
const keyClients = ['key-1', 'key-2'].map((client_id) => ({ client_id, jwks: { keys: [] } }))
const about = { baseUrl: 'https://localhost:3443', settings, person: sam }
const basic = configurationOf('basic', about)

describe('npm run conformance -- plan', () => {
  for (const plan of planNames) {
    it(`${plan}: saves a page for exactly those modules that a person reviews`, () => {
      const { override } = configurationOf(plan, { ...about, keyClients })
      const kept = Object.entries(override).filter(([, entry]) =>
        JSON.stringify(entry).includes('"update-image-placeholder'),
      )
      const reviewed = [...expectedOf(plan)].filter(([, result]) => result === 'REVIEW')
      expect(kept.map(([name]) => name)).to.have.members(reviewed.map(([name]) => name))
    })

    it(`${plan}: has a row of docs/conformance.md with the expected results`, () => {
      const results = [...expectedOf(plan).values()]
      const counts = [...Map.groupBy(results, (result) => result)]
      const counted = counts.map(([result, all]) => `${all.length} ${result}`)
      const page = readFileSync(join(root, 'docs/conformance.md'), 'utf8')
      const row = page.split('\n').find((line) => line.startsWith(`| \`${plan}\` |`)) ?? ''
      expect(row).to.include(plans[plan].name).and.include(`| ${results.length} | `)
      expect(row.split('|').at(-2)?.trim().split(', ')).to.have.members(counted)
    })
  }

  it('shows the sign-in page first and signs in the second time for a reused request_uri', () => {
    const name = 'par-ensure-reused-request-uri-prior-to-auth-completion-succeeds'
    const { override } = configurationOf('fapi2', { ...about, keyClients })
    const [first, second] = override[`fapi2-security-profile-final-${name}`]?.browser ?? []
    expect([first?.['match-limit'], second?.['match-limit']]).to.deep.equal([1, undefined])
    expect(first?.tasks.map(({ task }) => task)).to.deep.equal(['Look'])
    expect(second?.tasks[0]?.task).to.equal('Sign in')
  })

  it('prints the plan, and the JSON alone for a file', async () => {
    const { client, client2, client_secret_post: byPost } = basic
    const ids = [client, client2, byPost].map((each) => each?.client_id)
    expect(ids).to.deep.equal(['oidf-1', 'oidf-2', 'oidf-post'])
    const { code, stdout } = await runConformance('plan basic')
    expect(code).to.equal(0)
    expect(stdout).to.include('Plan: oidcc-basic-certification-test-plan')
    expect(stdout).to.include(`Variant: ${JSON.stringify(plans.basic.variant)}`)
    const file = await runConformance('plan basic --configuration')
    expect(JSON.parse(file.stdout)).to.deep.equal(basic)
    expect(stdout.endsWith(file.stdout)).to.equal(true)
  })

  it('exits with 1 for an unexpected result and with 2 for wrong options', async () => {
    await using suite = await startSuite()
    const to = `--suite ${suite.url} --token ${suite.token} --insecure`
    const run = `run --only config --port ${await freePort()} ${to}`
    const { code, stdout } = await runConformance(run)
    expect(code).to.equal(1)
    expect(stdout).to.include('oidcc-discovery-endpoint-verification was not run')
    expect(stdout).to.not.include(suite.token)
    const absent = await runConformance(`plan config --base-url https://localhost:1 ${to}`)
    expect(absent.code).to.equal(1)
    expect(absent.stderr).to.include('https://localhost:1 cannot be reached')
    const misunderstood = await runConformance('plan hybrid')
    expect(misunderstood.code).to.equal(2)
    expect(misunderstood.stderr).to.include('There is no plan hybrid. Plans: config,')
  })

  it('parses the options that limit a run', () => {
    const words = '--only basic/oidcc-server --only basic/oidcc-display-page'
    const run = (more: string) =>
      readOptions(`run --suite https://suite.example/ ${words} ${more}`.split(' '))
    const basicOnly = { plan: 'basic', only: ['oidcc-server', 'oidcc-display-page'] }
    expect(run('--only fapi2 --alias mine')).to.deep.include({
      plans: [basicOnly, { plan: 'fapi2', only: [] }],
      ...{ alias: 'mine', suiteBaseUrl: 'https://suite.example', atOnce: 3 },
    })
    expect(run('--only basic')).to.deep.include({ plans: [{ plan: 'basic', only: [] }] })
  })

  for (const [words, problem] of [
    ['run', 'run needs --suite'],
    ['run --suite https://suite.example --only hybrid/x', 'no plan hybrid'],
    ['serve --alias a/b', '--alias'],
    ['run --suite https://suite.example --at-once 0', '--at-once'],
    ['serve --for hybrid', 'no plan hybrid'],
    ['help me', 'no such command: help me'],
    ['serve --port x', '--port'],
    ['serve --base-url http://localhost', 'https'],
    ['serve --base-url https://a.example/op', 'path'],
  ] as const) {
    it(`refuses ${words}`, () => expect(() => readOptions(words.split(' '))).to.throw(problem))
  }
})

describe('the certificate of npm run conformance', () => {
  for (const host of ['localhost', '127.0.0.1', '[::1]', 'op.example']) {
    it(`is valid for ${host} and signed by its own key`, () => {
      const made = new X509Certificate(makeCertificate(host).certificate)
      const bare = host.replace(/^\[|\]$/g, '')
      const found = isIP(bare) === 0 ? made.checkHost(bare) : made.checkIP(bare)
      expect(found, made.subjectAltName).to.equal(bare)
      expect(made.checkHost('other.example')).to.equal(undefined)
      expect([made.verify(made.publicKey), made.ca]).to.deep.equal([true, true])
      expect(Date.parse(made.validTo)).to.be.greaterThan(Date.now())
    })
  }
})

describe('npm run conformance -- serve', () => {
  const open = sharedBrowser()
  const suite = shared(async () => await startSuite())
  const served = shared(async () => await serveFor(suite()))
  const configurationHere = (plan: 'logout' | 'basic' = 'logout') =>
    configurationOf(plan, aboutServed(served(), suite()))

  const openPage = async () => (await open({ ignoreHTTPSErrors: true })).page
  const authorize = (redirectPath = '/test/a/gatehouse/callback', prompt?: string) =>
    authorizeUrl(served().baseUrl, {
      client_id: configurationHere().client.client_id,
      redirect_uri: suite().url + redirectPath,
      scope: 'openid profile email address phone',
      ...{ nonce: 'a-nonce', prompt, resource: undefined },
      ...{ code_challenge: undefined, code_challenge_method: undefined },
    }).href

  it('has every page and element that the tasks name, and returns to the suite', async () => {
    const { baseUrl } = served()
    const configuration = configurationHere()
    const page = await openPage()
    const stateOf = () => new URL(page.url()).searchParams.get('state')
    await visit(page, authorize(), configuration.browser)
    expect(stateOf()).to.equal('the-state')
    const query = new URLSearchParams({
      client_id: configuration.client.client_id,
      post_logout_redirect_uri: `${suite().url}/test/a/gatehouse/post_logout_redirect`,
      state: 'b-state',
    })
    await visit(page, `${baseUrl}/oauth/logout?${query}`, configuration.browser)
    expect(stateOf()).to.equal('b-state')

    await visit(page, authorize(), configuration.browser)
    const noParams = configuration.override['oidcc-rp-initiated-logout-no-params']
    await visit(page, `${baseUrl}/oauth/logout`, noParams?.browser ?? [])
    expect(page.url()).to.match(/\/oauth\/logout\/success/)
  })

  it('shows the error page that the overrides wait for, and the sign-in page twice', async () => {
    const { override } = configurationHere('basic')
    const page = await openPage()
    const refused = override['oidcc-ensure-registered-redirect-uri']?.browser ?? []
    await visit(page, authorize('/elsewhere'), refused)
    const twice = override['oidcc-prompt-login']?.browser ?? []
    await visit(page, authorize(), twice)
    await visit(page, authorize(undefined, 'login'), twice)
  })

  it('fits only the plans that need no further protocols', async () => {
    await demandFit('logout', served())
    for (const plan of ['backchannel', 'fapi2', 'all-keys'] as const)
      expect(await demandFit(plan, served()).catch(String))
        .to.include(`serve --for ${plan}`)
        .and.match(/must be o(n|ff)/)
  })

  it('publishes a further key after a rotation', async () => {
    const kids = async () => {
      const { keys } = (await askService(served(), '/api/oauth/jwks')) as {
        keys: KeyClient['jwks']['keys']
      }
      return keys.map(({ kid }) => kid)
    }
    const before = await kids()
    const lines: string[] = []
    const say = (line: string) => lines.push(line)
    await rotateServedKeys({ ...served(), suiteBaseUrl: suite().url, say })
    const after = await kids()
    expect(after).to.include.members(before).and.have.length.above(before.length)
    expect(lines.join()).to.include('rotated')
  })
})

describe('npm run conformance -- serve --for', () => {
  const discover = async (served: ServedOverHttps) =>
    (await askService(served, '/.well-known/openid-configuration')) as Record<string, unknown>

  type Sent = { readonly address: unknown; readonly fields: Readonly<Record<string, string>> }

  /** Sends a form with a client's assertion, as the suite does. */
  async function sendAs({ client_id, jwks }: KeyClient, served: ServedOverHttps, to: Sent) {
    const [key = {}] = jwks.keys
    const { alg = '', kid = '' } = key
    const signing = { privateKey: (await importJWK(key)) as CryptoKey, alg, kid }
    const claims = { iss: client_id, sub: client_id }
    const assertion = await signAssertion(signing, served.baseUrl, claims)
    const { content } = await ask(new URL(String(to.address)), {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: String(encode({ ...to.fields, ...byAssertion(assertion), client_id })),
      ca: readCertificate(served.folder) ?? '',
      timeoutMs: 10_000,
    })
    return JSON.parse(String(content))
  }

  it('fapi2: enables what FAPI 2.0 needs, and two applications whose keys the plan has', async () => {
    await using suite = await startSuite()
    await using served = await serveFor(suite, 'fapi2')
    const metadata = await discover(served)
    expect(metadata).to.include.keys('dpop_signing_alg_values_supported')
    expect(metadata['backchannel_logout_supported'] ?? false).to.equal(false)
    expect(metadata['token_endpoint_auth_methods_supported']).to.include('private_key_jwt')
    expect(metadata['claims_supported']).to.not.include('address')
    await demandFit('fapi2-id2', served)
    const here = aboutServed(served, suite)
    expect(() => configurationOf('fapi2', here)).to.throw(/needs --data: .*serve --for fapi2/)
    const fapi = configurationOf('fapi2', { ...here, keyClients: readKeyClients(served.folder) })
    expect(fapi.resource?.resourceUrl).to.equal(metadata['userinfo_endpoint'])
    const callback = `${suite.url}/test/a/${settings.alias}/callback`
    const addresses = { client: callback, client2: `${callback}?dummy1=lorem&dummy2=ipsum` }
    for (const place of ['client', 'client2'] as const) {
      const client = fapi[place] as KeyClient
      const fields = {
        ...{ response_type: 'code', scope: client.scope ?? '', redirect_uri: addresses[place] },
        ...{ code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' },
      }
      const address = metadata['pushed_authorization_request_endpoint']
      const pushed = await sendAs(client, served, { address, fields })
      expect(pushed['request_uri'], JSON.stringify(pushed)).to.be.a('string')
    }
  })

  it('all-keys: has clients of the profile that authenticate with their keys', async () => {
    await using suite = await startSuite()
    await using served = await serveFor(suite, 'keys')
    await demandFit('all-keys', served)
    const { token_endpoint: address } = await discover(served)
    const fields = { grant_type: 'authorization_code', code: 'x', redirect_uri: suite.url }
    const errorFor = async (client: KeyClient) =>
      (await sendAs(client, served, { address, fields }))['error']
    for (const client of readKeyClients(served.folder) ?? []) {
      expect(await errorFor(client)).to.equal('invalid_grant')
      // A new key with the same algorithm and `kid`.
      const [{ alg = '', kid = '' } = {}] = client.jwks.keys
      const { privateKey } = await generateKeyPair(alg, { extractable: true })
      const keys = [{ ...(await exportJWK(privateKey)), alg, kid }]
      expect(await errorFor({ ...client, jwks: { keys } })).to.equal('invalid_client')
    }
  })

  it('registers sign-out addresses for the back-channel plan only', async () => {
    for (const backChannelLogout of [false, true]) {
      const { clients } = await makeConformanceProfile(settings, { backChannelLogout })
      const address = `${settings.suiteBaseUrl}/test/a/gatehouse/backchannel_logout`
      for (const { backchannel_logout_uri } of clients)
        expect(backchannel_logout_uri).to.equal(backChannelLogout ? address : undefined)
    }
  })

  it('trusts the certificate of the suite and no other', async () => {
    await using suite = await startSuite()
    await using other = await startSuite()
    const before = getCACertificates('default')
    try {
      await trustSuite(suite.url)
      expect((await fetch(suite.url)).status).to.equal(401)
      expect(await fetch(other.url).catch((error: unknown) => error)).to.be.instanceOf(TypeError)
    } finally {
      setDefaultCACertificates(before)
    }
    const absent = `https://localhost:${await freePort()}`
    const problem = await trustSuite(absent).catch(({ message }: Error) => message)
    expect(problem).to.equal(`${absent} does not present a certificate. Start the suite first.`)
  })
})

/** Starts a service on a free port. The redirect URIs of its clients belong to `suite`. */
async function serveFor(suite: SuiteServer, kind: ServiceKind = 'plain') {
  const port = await freePort()
  const addresses = { baseUrl: `https://localhost:${port}`, suiteBaseUrl: suite.url }
  return await serveOverHttps({ port, ...addresses, alias: settings.alias, kind })
}

const aboutServed = ({ baseUrl }: ServedOverHttps, { url: suiteBaseUrl }: SuiteServer) => ({
  ...{ ...about, baseUrl, settings: { ...settings, suiteBaseUrl } },
})

describe('npm run conformance -- plan --suite', () => {
  const run = async (
    modules: Readonly<Record<string, ModuleScript>>,
    results: Readonly<Record<string, Result>>,
  ) => {
    await using suite = await startSuite(modules)
    const { url, token, calls } = suite
    const lines: string[] = []
    const say = (line: string) => void lines.push(line)
    let rotations = 0
    const asked = openSuite({ url, token, insecure: true })
    const expected = new Map(Object.entries(results))
    const first = await drive(asked, {
      plan: { name: 'a-plan', variant: { response_type: 'code' }, meaning: 'of a test' },
      ...{ configuration: basic, expected, say, moduleTimeoutMs: 2000 },
      rotateKeys: async () => {
        rotations += 1
      },
    })
    const again = await readAgain(asked, first, say)
    const differences = differencesOf({ plan: 'basic', only: [], run: again }, expected)
    const endings = again.modules.map(({ ending }) => ending)
    return { differences, endings, lines, calls, rotations }
  }

  it('runs each module in turn, rotates the keys for the module that waits for it, and then starts that module', async () => {
    const { differences, lines, calls, rotations } = await run(
      { 'oidcc-server': { ends: 'PASSED' }, 'oidcc-server-rotate-keys': { ends: 'REVIEW' } },
      { 'oidcc-server': 'PASSED', 'oidcc-server-rotate-keys': 'REVIEW' },
    )
    expect([differences, rotations]).to.deep.equal([[], 1])
    expect(calls.filter((call) => call.startsWith('POST'))).to.deep.equal([
      'POST /api/plan?planName=a-plan&variant=%7B%22response_type%22%3A%22code%22%7D',
      'POST /api/runner?test=oidcc-server&plan=a-plan&variant=%7B%7D',
      'POST /api/runner?test=oidcc-server-rotate-keys&plan=a-plan&variant=%7B%7D',
      'POST /api/runner/1',
    ])
    expect(lines[1]).to.match(/^1\/2 {2}PASSED +oidcc-server/)
    expect(lines.join('\n')).to.match(/^2\/2 {2}REVIEW +oidcc-server-rotate-keys/m)
  })

  it('names a chosen module that does not exist', () => {
    const finished = { planId: undefined, modules: [], seconds: 0 }
    const differences = differencesOf({ plan: 'basic', only: ['x'], run: finished }, new Map())
    expect(differences).to.deep.equal(['There is no module x.'])
  })

  it('names every difference: worse, better, missing and unknown', async () => {
    const { differences, lines } = await run(
      {
        ...{ worse: { ends: 'FAILED' }, better: { ends: 'PASSED' } },
        ...{ broken: { ends: 'INTERRUPTED' }, unknown: { ends: 'PASSED' } },
      },
      { worse: 'PASSED', better: 'WARNING', broken: 'PASSED', missing: 'PASSED' },
    )
    expect(differences).to.deep.equal([
      'worse ended with FAILED; expected: PASSED.',
      'better ended with PASSED; expected: WARNING.',
      'broken ended with INTERRUPTED; expected: PASSED. If another run uses the same alias, choose another --alias.',
      'unknown ended with PASSED; expected: nothing.',
      'missing was not run; expected: PASSED.',
    ])
    expect(lines.join('\n')).to.include('FAILURE CheckOne: not well').and.not.include('CheckAll')
  })

  it('reads results again, because the suite can still change them', async () => {
    const { differences, lines } = await run(
      { late: { ends: 'PASSED', later: 'FAILED' }, lost: { ends: 'PASSED', later: 'GONE' } },
      { late: 'PASSED', lost: 'PASSED' },
    )
    expect(differences).to.deep.equal([
      'late ended with FAILED; expected: PASSED.',
      'lost ended with ERROR; expected: PASSED.',
    ])
    expect(lines.join('\n')).to.include('late has changed from PASSED to FAILED')
  })

  it('sums up although the suite answers with errors, and stops when it is gone', async () => {
    const broken = { breaks: 502 } as const
    const { differences, endings, lines } = await run(
      { a: broken, b: { ends: 'PASSED' }, c: broken, d: broken, e: broken, f: { ends: 'PASSED' } },
      { a: 'PASSED', b: 'PASSED', f: 'PASSED' },
    )
    expect(endings).to.deep.equal(['ERROR', 'PASSED', 'ERROR', 'ERROR', 'ERROR'])
    expect(differences[0]).to.equal('a ended with ERROR; expected: PASSED.')
    const stopped = '3 consecutive modules ended with ERROR. Modules that were not run: 1.'
    expect(differences.at(-1)).to.equal(stopped)
    expect(lines.join('\n')).to.include('with 502')
  })

  it('does not wait for a person where no browser task fits', async () => {
    const wants = 'https://localhost:3443/elsewhere'
    const { differences, lines, calls } = await run({ stuck: { wants } }, { stuck: 'PASSED' })
    expect(differences).to.deep.equal(['stuck ended with TIMEOUT; expected: PASSED.'])
    expect(lines.join('\n')).to.include(wants)
    expect(calls).to.include('DELETE /api/runner/0')
  })

  it('names the refused call, and does not trust an unknown certificate by default', async () => {
    await using suite = await startSuite()
    const { url, token } = suite
    for (const [change, problem] of [
      [{ token: 'another' }, 'The suite responded to GET /api/server with 401'],
      [{ insecure: false }, 'cannot be reached: self-signed certificate'],
    ] as const) {
      const asking = openSuite({ url, token, insecure: true, ...change }).version()
      expect(await asking.catch(String)).to.include(problem)
    }
  })
})

describe('npm run conformance -- run', () => {
  it('starts a service, runs the plan, saves its logs and lists the pages to look at', async () => {
    const [name, reviewed] = ['oidcc-discovery-endpoint-verification', 'oidcc-prompt-login']
    const scripts = { [name]: { ends: 'PASSED' }, [reviewed]: { ends: 'REVIEW' } } as const
    await using suite = await startSuite(scripts)
    const [folder, port] = [temporaryFolder(), await freePort()]
    const to = `--suite ${suite.url} --token ${suite.token} --insecure --export ${folder}`
    const { code, stdout } = await runConformance(`run --port ${port} --only config/${name} ${to}`)
    expect([code, stdout]).to.deep.equal([0, stdout])
    expect(stdout).to.match(/^config +1 +1 +0 +0 +0 +0 +0/m)
    expect(stdout).to.include('All results are as expected')
    expect(readFileSync(join(folder, 'config.zip'), 'utf8')).to.equal('a zip')
    const { alias, server } = suite.configuration() as SuiteConfiguration
    expect(alias).to.equal('gatehouse-config')
    expect(server.discoveryUrl).to.match(new RegExp(`^https://localhost:${port}/`))
    const both = await runConformance(`run --port ${port} --only config ${to}`)
    expect(both.code).to.equal(1)
    const toReview = /person must review:\n {2}config\/oidcc-prompt-login {2}https:.*log=/
    expect(both.stdout).to.match(toReview)
  })
})

/** Opens the URL, and performs each task of the first matching visit in order, as the suite's browser does. */
async function visit(page: Page, url: string, visits: readonly Visit[]): Promise<void> {
  await page.goto(url)
  const found = visits.find(({ match }) => fits(match, url))
  expect(found, `no entry fits ${url}`).to.not.equal(undefined)
  for (const { task, match, optional, commands = [] } of found?.tasks ?? []) {
    if (!fits(match, page.url())) {
      expect(optional, `${task} does not fit ${page.url()}`).to.equal(true)
      continue
    }
    for (const command of commands) await perform(page, command)
    await page.waitForLoadState()
  }
}

async function perform(page: Page, [what, by, id, value, pattern]: Command): Promise<void> {
  expect(by).to.equal('id')
  const element = page.locator(`#${id}`)
  if (what === 'text') return await element.fill(String(value))
  if (what === 'click') return await element.click()
  expect(what).to.equal('wait')
  await element.waitFor({ timeout: Number(value) * 1000 })
  if (pattern !== undefined) expect(await element.innerText()).to.match(new RegExp(String(pattern)))
}

/** Whether the URL matches a pattern of the suite, whose only wildcard is the asterisk. */
function fits(pattern: string, url: string): boolean {
  const parts = pattern.split('*').map(RegExp.escape)
  return new RegExp(`^${parts.join('.*')}$`).test(url)
}
