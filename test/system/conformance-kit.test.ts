import { randomUUID, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type RequestOptions, request } from 'node:https'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'

import { expect } from 'chai'
import { importJWK, SignJWT } from 'jose'
import type { Browser, Page } from 'playwright-core'

import { makeCertificate } from '../../conformance/certificate.ts'
import {
  type Command,
  configurationOf,
  type SuiteConfiguration,
  type Visit,
} from '../../conformance/configuration.ts'
import { drive } from '../../conformance/drive.ts'
import { type FapiClient, readFapiClients } from '../../conformance/fapi-clients.ts'
import { readOptions } from '../../conformance/options.ts'
import { expectedOf, planNames, plans, type Result, wantsOf } from '../../conformance/plans.ts'
import { rotateServedKeys } from '../../conformance/rotation.ts'
import { readCertificate, type ServedOverHttps, serveOverHttps } from '../../conformance/serve.ts'
import { openSuite } from '../../conformance/suite.ts'
import { trustSuite } from '../../conformance/trust-suite.ts'
import { makeConformanceProfile } from '../../src/oauth/authorization/conformance-profile.ts'
import { openBrowser } from '../support/browser.ts'
import { sam } from '../support/gatehouse.ts'
import { runConformance } from '../support/process.ts'
import { freePort } from '../support/programs.ts'
import { ASSERTION_TYPE } from '../support/proofs.ts'
import { requireProgram } from '../support/skipped.ts'
import { type ModuleScript, type SuiteServer, startSuite } from '../support/suite.ts'

const settings = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../config/conformance.json'), 'utf8'),
)

const fapiClients = ['fapi-1', 'fapi-2'].map((client_id) => ({
  client_id,
  scope: 'openid email',
  jwks: { keys: [] },
}))

describe('npm run conformance -- plan', () => {
  const printed = configurationOf('basic', {
    baseUrl: 'https://localhost:3443',
    settings,
    person: sam,
  })

  it('puts each client of the profile in its place', () => {
    expect(printed.client.client_id).to.equal('oidf-1')
    expect(printed.client2.client_id).to.equal('oidf-2')
    expect(printed.client_secret_post?.client_id).to.equal('oidf-post')
    expect(printed.alias).to.equal('gatehouse')
    expect(printed.server.discoveryUrl).to.equal(
      'https://localhost:3443/.well-known/openid-configuration',
    )
    for (const client of [printed.client, printed.client2, printed.client_secret_post]) {
      expect(client).to.have.property('client_secret').with.length.of.at.least(32)
    }
  })

  it('gives the suite its tasks in the order in which the pages come', () => {
    const tasks = printed.browser.flatMap((visit) => visit.tasks)
    expect(
      tasks.map(({ task, optional, match }) => [task, optional ?? false, match]),
    ).to.deep.equal([
      ['Sign in', true, 'https://localhost:3443/interaction/*/login'],
      ['Allow', true, 'https://localhost:3443/interaction/*/consent'],
      [
        'Back at the suite',
        false,
        'https://localhost.emobix.co.uk:8443/test/a/gatehouse/callback*',
      ],
      ['Confirm', false, 'https://localhost:3443/oauth/logout*'],
      [
        'Back at the suite',
        false,
        'https://localhost.emobix.co.uk:8443/test/a/gatehouse/post_logout_redirect*',
      ],
    ])
  })

  for (const plan of planNames) {
    it(`${plan}: keeps a page of exactly the modules at whose end a person looks at one`, () => {
      const looked = [...expectedOf(plan)].filter(([, result]) => result === 'REVIEW')
      const { override } = configurationOf(plan, {
        baseUrl: 'https://localhost:3443',
        settings,
        person: sam,
        fapiClients,
      })
      const kept = Object.entries(override).filter(([, entry]) =>
        JSON.stringify(entry).includes('"update-image-placeholder'),
      )
      expect(kept.map(([name]) => name).toSorted()).to.deep.equal(
        looked.map(([name]) => name).toSorted(),
      )
    })
  }

  it('has a row of docs/conformance.md for each plan, with the results that are expected', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/conformance.md'), 'utf8')
    for (const plan of planNames) {
      const results = [...expectedOf(plan).values()]
      const counted = [...Map.groupBy(results, (result) => result)].map(
        ([result, all]) => `${all.length} ${result}`,
      )
      const row = page.split('\n').find((line) => line.startsWith(`| \`${plan}\` |`)) ?? ''
      expect(row).to.include(plans[plan].name)
      expect(row).to.include(`| ${results.length} | `)
      expect(row.split('|').at(-2)?.trim().split(', ')).to.have.members(counted)
    }
  })

  it('prints what the suite is told, and the JSON alone for a file', async () => {
    const { code, stdout } = await runConformance(['plan', 'basic'])
    expect(code).to.equal(0)
    expect(stdout).to.include('Plan: oidcc-basic-certification-test-plan')
    expect(stdout).to.include(`Variant: ${JSON.stringify(plans.basic.variant)}`)
    const file = await runConformance(['plan', 'basic', '--configuration'])
    expect(JSON.parse(file.stdout)).to.deep.equal(printed)
    expect(stdout.endsWith(file.stdout)).to.equal(true)
  })

  it('ends with 1 when a suite does not run what is expected, and with 2 when it is misunderstood', async () => {
    await using suite = await startSuite()
    const { url, token } = suite
    const words = ['plan', 'config', '--suite', url, '--token', token, '--insecure']
    const { code, stdout } = await runConformance(words)
    expect(code).to.equal(1)
    expect(stdout).to.include('oidcc-discovery-endpoint-verification was not run')
    expect(stdout).to.not.include(token)
    const misunderstood = await runConformance(['plan', 'hybrid'])
    expect(misunderstood.code).to.equal(2)
    expect(misunderstood.stderr).to.include('There is no plan hybrid. Plans: basic,')
  })

  it('refuses what it does not know, and says what it wants', () => {
    expect(() => readOptions(['plan', 'hybrid'])).to.throw('plan hybrid')
    expect(() => readOptions(['serve', '--for', 'hybrid'])).to.throw('no plan hybrid')
    expect(() => readOptions(['help', 'me'])).to.throw('no such command: help me')
    expect(() => readOptions(['serve', '--port', 'x'])).to.throw('--port')
    expect(() => readOptions(['serve', '--base-url', 'http://localhost'])).to.throw('https')
    expect(() => readOptions(['serve', '--base-url', 'https://a.example/op'])).to.throw('path')
  })
})

describe('the certificate of npm run conformance', () => {
  for (const host of ['localhost', '127.0.0.1', '[::1]', 'op.example']) {
    it(`is one for ${host} that its own key has signed`, () => {
      const made = new X509Certificate(makeCertificate(host).certificate)
      const bare = host.replace(/^\[|\]$/g, '')
      const found = isIP(bare) === 0 ? made.checkHost(bare) : made.checkIP(bare)
      expect(found, made.subjectAltName).to.equal(bare)
      expect(made.checkHost('other.example')).to.equal(undefined)
      expect(made.verify(made.publicKey)).to.equal(true)
      expect(made.ca).to.equal(true)
      expect(Date.parse(made.validTo)).to.be.greaterThan(Date.now())
    })
  }
})

describe('npm run conformance -- serve', () => {
  let served: ServedOverHttps
  let configuration: SuiteConfiguration
  let browser: Browser
  let baseUrl: string
  let suite: SuiteServer
  let suiteBaseUrl: string

  before(async function () {
    requireProgram(this, 'chromium')
    suite = await startSuite()
    suiteBaseUrl = suite.url
    const port = await freePort()
    baseUrl = `https://localhost:${port}`
    served = await serveOverHttps({ port, baseUrl, suiteBaseUrl, alias: settings.alias })
    configuration = configurationOf('logout', {
      baseUrl,
      settings: { ...settings, suiteBaseUrl },
      person: sam,
    })
    browser = await openBrowser()
  })
  after(async () => {
    await browser?.close()
    await served?.[Symbol.asyncDispose]()
    await suite?.[Symbol.asyncDispose]()
  })

  const openPage = async () => await browser.newPage({ ignoreHTTPSErrors: true })

  const authorize = (redirectPath = '/test/a/gatehouse/callback') => {
    const url = new URL(`${baseUrl}/oauth/authorize`)
    url.search = new URLSearchParams({
      response_type: 'code',
      client_id: configuration.client.client_id,
      redirect_uri: suiteBaseUrl + redirectPath,
      scope: 'openid profile email address phone',
      state: 'a-state',
      nonce: 'a-nonce',
    }).toString()
    return url.href
  }

  it('is https with a certificate for its host, and lists what the suite asks for', async () => {
    const metadata = await getJson(`${baseUrl}/.well-known/openid-configuration`, served)
    expect(metadata['issuer']).to.equal(baseUrl)
    for (const [name, value] of Object.entries(metadata)) {
      if (/_(endpoint|uri)$/.test(name)) expect(value, name).to.match(/^https:/)
    }
    expect(metadata['token_endpoint_auth_methods_supported']).to.include('client_secret_basic')
    expect(metadata['id_token_signing_alg_values_supported']).to.include('RS256')
  })

  it('has every page and every element that the printed tasks name', async () => {
    const page = await openPage()
    await visit(page, authorize(), configuration.browser)
    expect(new URL(page.url()).searchParams.get('state')).to.equal('a-state')
    await visit(page, `${baseUrl}/oauth/logout`, configuration.override[noParams]?.browser ?? [])
    expect(page.url()).to.match(/\/oauth\/logout\/success/)
    await page.close()
  })

  it('goes back to the suite when the suite asked for the sign-out', async () => {
    const page = await openPage()
    await visit(page, authorize(), configuration.browser)
    const logout = new URL(`${baseUrl}/oauth/logout`)
    logout.search = new URLSearchParams({
      client_id: configuration.client.client_id,
      post_logout_redirect_uri: `${suiteBaseUrl}/test/a/gatehouse/post_logout_redirect`,
      state: 'b-state',
    }).toString()
    await visit(page, logout.href, configuration.browser)
    expect(new URL(page.url()).searchParams.get('state')).to.equal('b-state')
    await page.close()
  })

  it('shows the error page that the overrides wait for, and the sign-in page twice', async () => {
    const about = { baseUrl, settings: { ...settings, suiteBaseUrl }, person: sam }
    const { override } = configurationOf('basic', about)
    const page = await openPage()
    const refused = override['oidcc-ensure-registered-redirect-uri']?.browser ?? []
    await visit(page, authorize('/elsewhere'), refused)
    const twice = override['oidcc-prompt-login']?.browser ?? []
    await visit(page, authorize(), twice)
    await visit(page, `${authorize()}&prompt=login`, twice)
    await page.close()
  })

  it('follows a rotation of its keys, so that the module that waits for one goes on', async () => {
    const before = await getJson(`${baseUrl}/api/oauth/jwks`, served)
    const lines: string[] = []
    await rotateServedKeys({
      ...{ baseUrl, suiteBaseUrl, folder: served.folder },
      say: (line) => lines.push(line),
    })
    const after = await getJson(`${baseUrl}/api/oauth/jwks`, served)
    const kids = ({ keys }: Record<string, unknown>) =>
      (keys as { kid: string }[]).map(({ kid }) => kid)
    expect(kids(after)).to.include.members(kids(before))
    expect(kids(after)).to.have.length.above(kids(before).length)
    expect(lines.join()).to.include('rotated')
  })
})

describe('npm run conformance -- serve --for fapi2', () => {
  it('has everything on but the profile, and two applications whose keys the plan is told', async () => {
    await using suite = await startSuite()
    const baseUrl = `https://localhost:${await freePort()}`
    const { alias } = settings
    await using served = await serveOverHttps({
      ...{ port: Number(new URL(baseUrl).port), baseUrl, suiteBaseUrl: suite.url, alias },
      wants: wantsOf('fapi2'),
    })
    const metadata = await getJson(`${baseUrl}/.well-known/openid-configuration`, served)
    expect(metadata).to.include.keys('dpop_signing_alg_values_supported')
    expect(metadata['backchannel_logout_supported']).to.equal(true)
    expect(metadata['token_endpoint_auth_methods_supported']).to.include('private_key_jwt')
    // What the profile brings is not there.
    expect(metadata['token_endpoint_auth_methods_supported']).to.not.include('client_secret_basic')
    expect(metadata['claims_supported']).to.not.include('address')

    const about = { baseUrl, settings: { ...settings, suiteBaseUrl: suite.url }, person: sam }
    expect(() => configurationOf('fapi2', about)).to.throw(/needs --data: .*serve --for fapi2/)
    const printed = configurationOf('fapi2', {
      ...about,
      fapiClients: readFapiClients(served.folder),
    })
    expect(printed.resource?.resourceUrl).to.equal(metadata['userinfo_endpoint'])
    const callback = `${suite.url}/test/a/${alias}/callback`
    const addresses = { client: callback, client2: `${callback}?dummy1=lorem&dummy2=ipsum` }
    for (const place of ['client', 'client2'] as const) {
      const { client_id, scope, jwks } = printed[place] as FapiClient
      const [key = {}] = jwks.keys
      const now = Math.floor(Date.now() / 1000)
      const said = { iss: client_id, sub: client_id, aud: baseUrl, iat: now, exp: now + 60 }
      const assertion = await new SignJWT({ ...said, jti: randomUUID() })
        .setProtectedHeader({ alg: key.alg ?? '', kid: key.kid ?? '' })
        .sign(await importJWK(key))
      const pushed = await postForm(
        String(metadata['pushed_authorization_request_endpoint']),
        served,
        {
          ...{ response_type: 'code', scope, redirect_uri: addresses[place], client_id },
          ...{ code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' },
          client_assertion_type: ASSERTION_TYPE,
          client_assertion: assertion,
        },
      )
      expect(pushed['request_uri'], JSON.stringify(pushed)).to.be.a('string')
    }
  })

  it('tells the clients of the profile of sign-outs where the back-channel plan wants it', async () => {
    for (const backChannelLogout of [false, true]) {
      const { clients } = await makeConformanceProfile(settings, { backChannelLogout })
      const address = `${settings.suiteBaseUrl}/test/a/gatehouse/backchannel_logout`
      for (const { backchannel_logout_uri: told } of clients) {
        expect(told).to.equal(backChannelLogout ? address : undefined)
      }
    }
  })

  it('trusts the certificate of the suite that it tells of sign-outs, and of no other', async () => {
    await using suite = await startSuite()
    await using other = await startSuite()
    const before = getCACertificates('default')
    try {
      await trustSuite(suite.url)
      expect((await fetch(suite.url)).status).to.equal(401)
      const refused = await fetch(other.url).catch((error: unknown) => error)
      expect(refused).to.be.instanceOf(TypeError)
    } finally {
      setDefaultCACertificates(before)
    }
    const nobody = `https://localhost:${await freePort()}`
    const said = await trustSuite(nobody).catch(({ message }: Error) => message)
    expect(said).to.equal(`${nobody} shows no certificate. Start the suite first.`)
  })

  it('shows the sign-in page once, and signs in at the second time, where the suite comes twice', () => {
    const name = 'par-ensure-reused-request-uri-prior-to-auth-completion-succeeds'
    const { override } = configurationOf('fapi2', {
      ...{ baseUrl: 'https://localhost:3443', settings, person: sam, fapiClients },
    })
    const [first, second] = override[`fapi2-security-profile-final-${name}`]?.browser ?? []
    expect([first?.['match-limit'], second?.['match-limit']]).to.deep.equal([1, undefined])
    expect(first?.tasks.map(({ task }) => task)).to.deep.equal(['Look'])
    expect(second?.tasks[0]?.task).to.equal('Sign in')
  })
})

describe('npm run conformance -- plan --suite', () => {
  const plan = { name: 'a-plan', variant: { response_type: 'code' }, meaning: 'of a test' }
  const configuration = configurationOf('basic', {
    baseUrl: 'https://localhost:3443',
    settings,
    person: sam,
  })

  const run = async (
    modules: Readonly<Record<string, ModuleScript>>,
    expected: Readonly<Record<string, Result>>,
  ) => {
    await using suite = await startSuite(modules)
    const lines: string[] = []
    let rotations = 0
    const report = await drive(openSuite({ url: suite.url, token: suite.token, insecure: true }), {
      ...{ plan, configuration },
      expected: new Map(Object.entries(expected)),
      rotateKeys: async () => {
        rotations += 1
      },
      say: (line) => lines.push(line),
      moduleTimeoutMs: 2000,
    })
    const { calls } = suite
    return { report, lines, calls, rotations, sent: suite.configuration() }
  }

  it('creates the plan and each of its modules, one after the other, and says how each ended', async () => {
    const { report, lines, calls, sent } = await run(
      { 'oidcc-server': { ends: 'PASSED' }, 'oidcc-prompt-login': { ends: 'REVIEW' } },
      { 'oidcc-server': 'PASSED', 'oidcc-prompt-login': 'REVIEW' },
    )
    expect(report.differences).to.deep.equal([])
    expect(Object.fromEntries(report.counted)).to.deep.equal({ PASSED: 1, REVIEW: 1 })
    expect(sent).to.deep.equal(configuration)
    const [created, ...others] = calls
    expect(created).to.equal(
      'POST /api/plan?planName=a-plan&variant=%7B%22response_type%22%3A%22code%22%7D',
    )
    expect(others.filter((call) => call.startsWith('POST'))).to.deep.equal([
      'POST /api/runner?test=oidcc-server&plan=a-plan&variant=%7B%7D',
      'POST /api/runner?test=oidcc-prompt-login&plan=a-plan&variant=%7B%7D',
    ])
    expect(lines[1]).to.match(/^1\/2 {2}PASSED +oidcc-server/)
    expect(lines[2]).to.match(/^2\/2 {2}REVIEW +oidcc-prompt-login/)
  })

  it('rotates the keys where the suite waits for it, and starts that module by hand', async () => {
    const { report, calls, rotations } = await run(
      { 'oidcc-server-rotate-keys': { ends: 'PASSED' } },
      { 'oidcc-server-rotate-keys': 'PASSED' },
    )
    expect(report.differences).to.deep.equal([])
    expect(rotations).to.equal(1)
    expect(calls).to.include('POST /api/runner/0')
  })

  it('names every difference, a better result and a module more or less among them', async () => {
    const { report, lines } = await run(
      {
        ...{ worse: { ends: 'FAILED' }, better: { ends: 'PASSED' } },
        ...{ broken: { ends: 'INTERRUPTED' }, unknown: { ends: 'PASSED' } },
      },
      { worse: 'PASSED', better: 'WARNING', broken: 'PASSED', missing: 'PASSED' },
    )
    expect(report.differences).to.deep.equal([
      'worse ended FAILED, and PASSED was expected.',
      'better ended PASSED, and WARNING was expected.',
      'broken ended INTERRUPTED, and PASSED was expected.',
      'unknown ended PASSED, and nothing was expected.',
      'missing was not run, and PASSED was expected.',
    ])
    expect(lines.join('\n')).to.include('FAILURE CheckOne: not well')
    expect(lines.join('\n')).to.not.include('CheckAll')
  })

  it('does not wait for a person where no browser task fits', async () => {
    const { report, lines, calls } = await run(
      { stuck: { wants: 'https://localhost:3443/elsewhere' } },
      { stuck: 'PASSED' },
    )
    expect(report.differences).to.deep.equal(['stuck ended TIMEOUT, and PASSED was expected.'])
    expect(lines.join('\n')).to.include('https://localhost:3443/elsewhere')
    expect(calls).to.include('DELETE /api/runner/0')
  })

  it('says which call was refused, and does not trust an unknown certificate by itself', async () => {
    await using suite = await startSuite()
    const { url, token } = suite
    const refused = openSuite({ url, token: 'another', insecure: true })
    expect(await refused.version().catch(String)).to.include(
      'GET /api/server of the suite answered 401',
    )
    const strict = openSuite({ url, token, insecure: false })
    expect(await strict.version().catch(String)).to.include(
      'cannot be asked: self-signed certificate',
    )
  })
})

const noParams = 'oidcc-rp-initiated-logout-no-params'

/**
 * Does in Chromium what the suite's browser does: the first visit that fits the address, each of its
 * tasks once and in order, against the address where the browser is then.
 */
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
  if (pattern !== undefined) {
    expect(await element.innerText()).to.match(new RegExp(String(pattern)))
  }
}

/** The only sign of the suite's patterns is the asterisk. */
function fits(pattern: string, url: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.?+^$()[\]{}|\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`).test(url)
}

async function getJson(url: string, served: ServedOverHttps): Promise<Record<string, unknown>> {
  return await askJson(url, served, { method: 'GET' })
}

async function postForm(url: string, served: ServedOverHttps, form: Record<string, string>) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return await askJson(url, served, {
    method: 'POST',
    headers,
    body: `${new URLSearchParams(form)}`,
  })
}

async function askJson(
  url: string,
  { folder }: ServedOverHttps,
  { body, ...options }: RequestOptions & { readonly body?: string },
): Promise<Record<string, unknown>> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  request(url, { ...options, ca: readCertificate(folder) }, (answer) => {
    text(answer).then(resolve, reject)
  })
    .once('error', reject)
    .end(body)
  return JSON.parse(await promise)
}
