import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { decodeJwt } from 'jose'
import * as oidc from 'openid-client'

import { makeAdminSchema } from '../src/api/admin-api/admin-api.ts'
import { MFA_ACR } from '../src/directory/people/authentication.ts'
import { scopeNames } from '../src/directory/scopes/catalogue.ts'
import { sensitiveOperations } from '../src/directory/scopes/sensitive-operations.ts'
import { paths } from '../src/platform/http/paths.ts'
import { type HeadlessPerson, makeHeadlessPerson } from '../tools/token/headless-person.ts'
import {
  asResourceServer,
  authorizeUrl,
  codeBy,
  introspect,
  obtainCode,
  obtainTokens,
  redeem,
  refresh,
} from './support/client.ts'
import { change, insert, remove as removeRows, rowOf, rowsOf } from './support/database.ts'
import { sendFile } from './support/files.ts'
import { amir, marco, notes, olivia, sam } from './support/gatehouse.ts'
import { later } from './support/later.ts'
import { callTool, operatorToken, sdkProvider, toolNames } from './support/mcp.ts'
import { hiddenField, makePagePerson, submitPage, targetOf } from './support/page-person.ts'
import { getTokens } from './support/relying-party.ts'
import { sharedService } from './support/storages.ts'
import { addApp, useTwoFactors } from './support/two-factors.ts'
import { answerOf, basic, bearer, type Fields, get, postJson, refusalOf } from './support/wire.ts'

const PASSWORD = 'urn:gatehouse:password'
const PROVIDER = 'urn:gatehouse:identity-provider'

const essential = (acr: object) => ({
  claims: JSON.stringify({ id_token: { acr: { essential: true, ...acr } } }),
})
const unmet = 'unmet_authentication_requirements'
const needed = 'id="two-factors-needed-page"'

describe('the assurance that an authorization request requires', () => {
  const service = sharedService()
  const signedIn = async () => (await obtainCode(service().url)).person
  const plain = { scope: 'account:read' }
  /** Returns the outcome of a request in this browser: `a code`, the error, `a page` (the sign-in), or another path. */
  const outcome = async (person: HeadlessPerson, fields: Fields) => {
    const answer = await answerOf(await person.open(authorizeUrl(service().url, fields)))
    const { pathname, searchParams } = targetOf(answer, service().url)
    if (searchParams.has('code')) return 'a code'
    return searchParams.get('error') ?? (/\/login$/.test(pathname) ? 'a page' : pathname)
  }
  /** Returns the outcome after the person has entered the password again. */
  const afterPassword = async (fields: Fields, known?: HeadlessPerson) => {
    const [start, person] = [authorizeUrl(service().url, fields), known ?? (await signedIn())]
    const { searchParams } = await person.authorize(start, notes.redirectUri)
    return searchParams.get('error') ?? 'a code'
  }

  // [RFC 9470 §4; RFC 9470 §5; OpenID Connect Core §5.5.1.1; OpenID Connect Core §15.1]
  it('is asked for with acr_values or an essential acr, and prompts a weaker session', async () => {
    const person = await signedIn()
    const ofPlain = { ...plain, acr_values: MFA_ACR }
    for (const fields of [essential({ values: [MFA_ACR, PROVIDER] }), ofPlain]) {
      expect(await outcome(person, fields)).to.equal('a page')
      expect(await outcome(person, { ...fields, prompt: 'none' })).to.equal('login_required')
    }
    for (const fields of [
      { acr_values: `${MFA_ACR} ${PASSWORD}` },
      { acr_values: 'urn:example:retina' },
      { ...plain, acr_values: PASSWORD },
      essential({ values: [PASSWORD, MFA_ACR] }),
      { claims: JSON.stringify({ id_token: { acr: { values: [MFA_ACR] } } }) },
    ])
      expect(await outcome(person, fields), JSON.stringify(fields)).to.equal('a code')
  })

  // [RFC 9470 §5; OpenID Connect Core §5.5.1.1; 337]
  it('ends with unmet_authentication_requirements after a sign-in that does not reach it', async () => {
    for (const fields of [
      { acr_values: MFA_ACR, prompt: 'login' },
      { acr_values: PROVIDER },
      { ...plain, acr_values: MFA_ACR },
      essential({ values: [PROVIDER] }),
    ])
      expect(await afterPassword(fields), JSON.stringify(fields)).to.equal(unmet)
    // No sign-in can satisfy an unknown acr value, so the service shows no page.
    const unknown = essential({ value: 'urn:example:retina' })
    expect(await outcome(await signedIn(), unknown)).to.equal(unmet)
    expect(await outcome(await signedIn(), { ...unknown, prompt: 'none' })).to.equal(unmet)
  })

  // [OpenID Connect Core §5.5.1.1; 338]
  it('is not lowered by acr_values beside an essential acr, an internal parameter or repeated acr_values', async () => {
    const person = await signedIn()
    const both = { ...essential({ value: MFA_ACR }), acr_values: PASSWORD }
    expect(await outcome(person, both)).to.equal('a page')
    expect(await afterPassword(both)).to.equal(unmet)
    const stepUp = { acr_values: MFA_ACR, step_up_acr_values: PASSWORD }
    expect(await outcome(person, stepUp)).to.equal('a page')
    const twice = { ...plain, acr_values: [MFA_ACR, PASSWORD] }
    expect(await outcome(person, twice)).to.equal('invalid_request')
  })

  // [RFC 9470 §4; 339]
  it('accepts acr_values and max_age without openid, and rejects a malformed max_age', async () => {
    const person = await signedIn()
    expect(await outcome(person, { ...plain, max_age: '600' })).to.equal('a code')
    expect(await outcome(person, { ...plain, max_age: '0' })).to.equal('a page')
    for (const max_age of ['-1', '1.5', 'x', '1e9'])
      expect(await outcome(person, { ...plain, max_age }), max_age).to.equal('invalid_request')
    await later(120_000, async () => {
      const minute = { ...plain, max_age: '60' }
      expect(await outcome(person, minute)).to.equal('a page')
      expect(await outcome(person, { ...minute, prompt: 'none' })).to.equal('login_required')
      expect(await afterPassword(minute, person)).to.equal('a code')
    })
  })

  // [RFC 9470 §6.2; OpenID Connect Core §2; OpenID Connect Core §12.2; 340]
  it('is reported as reached in every id_token and at introspection, and a refresh does not renew it', async () => {
    const { url } = service()
    const { accessToken, refreshToken, answer, person } = await obtainTokens(url)
    const { auth_time, ...claims } = decodeJwt(String(answer.id_token))
    expect(claims).to.deep.include({ acr: PASSWORD, amr: ['pwd'] })
    const expectAcr = async (token: string, acr = PASSWORD) =>
      expect((await introspect(url, token)).body).to.include({ acr, auth_time })
    await expectAcr(accessToken)
    await useTwoFactors(person, service())
    await later(60_000, async () => {
      const { body } = await refresh(url, refreshToken)
      await expectAcr(body.access_token)
      await expectAcr(body.refresh_token)
      const stepped = await codeBy(person, url, { ...plain, acr_values: MFA_ACR })
      await expectAcr((await redeem(url, stepped)).body.access_token, MFA_ACR)
    })
  })
})

describe('the assurance that a site demands for sensitive operations', () => {
  let aheadMs = 0
  const service = sharedService({ now: () => Date.now() + aheadMs })
  const demand = async (areas = '', max_age_seconds: number | null = null) => {
    const { kysely } = service()
    await removeRows(kysely, 'site_assurance')
    await insert(kysely, 'site_assurance', { site_id: 'sit_northlight', areas, max_age_seconds })
  }
  afterEach(async () => {
    aheadMs = 0
    await removeRows(service().kysely, 'site_assurance')
  })

  const tokenOf = async (scope = scopeNames('operator').join(' ')) =>
    await operatorToken(service().url, scope)
  /** Obtains a token and marks it as if the operator had signed in with two factors. */
  const strongToken = async () => {
    const { kysely } = service()
    const token = await tokenOf()
    const [id = ''] = token.split('.')
    const said = JSON.parse((await rowOf(kysely, 'refresh_token_family', { id })).token)
    const stronger = JSON.stringify({ ...said, acr: MFA_ACR })
    await change(kysely, 'refresh_token_family', { id }, { token: stronger })
    return token
  }
  const expectNeeded = async (page: Promise<{ text: string }>) =>
    expect((await page).text).to.include(needed)
  const ask = async (token: string, query: string, operationName?: string) =>
    await postJson(service().url + paths.adminGraphql, { query, operationName }, { token })
  const site = '/admin/northlight'
  const page = `${site}/two-factors`
  const remove = 'mutation { deleteFile(id: "none") { deletedId } }'
  const sensitive = [
    remove,
    'mutation M { a: removeMember(id: "none") { deletedId } }',
    'mutation M { ...F } fragment F on Mutation { ... on Mutation { x: deletePost(id: "none") { deletedId } } }',
    'mutation { setSelfSignUp(isEnabled: true) { id } }',
  ]

  // [RFC 9470 §3; RFC 9470 §9; 341]
  it('is a challenge at the Admin API of the site, for every spelling of a sensitive mutation', async () => {
    const token = await tokenOf()
    for (const query of sensitive) expect((await ask(token, query)).status).to.equal(200)
    await demand()
    for (const query of sensitive) {
      const refused = await ask(token, query)
      expect(refusalOf(refused), query).to.equal('401 insufficient_user_authentication')
      const challenge = refused.headers.get('www-authenticate')
      expect(challenge).to.match(/^Bearer error="insufficient_user_authentication", error_descr/)
      expect(challenge).to.include(`acr_values="${MFA_ACR}"`).and.include('members:write')
      expect(challenge).to.not.include('max_age')
    }
    const both = `query Q { site { id } } ${sensitive[1]}`
    const run = async (name: string) => (await ask(token, both, name)).status
    expect([await run('Q'), await run('M')]).to.deep.equal([200, 401])
    const strong = await strongToken()
    for (const query of sensitive) expect((await ask(strong, query)).status, query).to.equal(200)
    const elsewhere = await operatorToken(service().url, 'members:write', marco)
    expect((await ask(elsewhere, sensitive[1] ?? '')).status, 'another site').to.equal(200)
  })

  // [RFC 9470 §3; 342]
  it('is a challenge for tools too, which stay listed', async () => {
    await demand('orders', 3600)
    const token = await tokenOf()
    const { url } = service()
    const call = async (name: string, values = {}) => await callTool(url, name, { token, values })
    for (const name of ['delete_lecture', 'list_site_orders']) {
      const { status, headers } = await call(name, name === 'delete_lecture' ? { id: 'none' } : {})
      expect(status, name).to.equal(401)
      expect(headers.get('www-authenticate')).to.include('max_age="3600"')
    }
    expect((await call('list_site_courses')).status).to.equal(200)
    expect(await toolNames(url, token)).to.include.members(['delete_lecture', 'list_site_orders'])
  })

  // [342, 343]
  it('covers added areas at uploads and forward auth, and expires with the age of the sign-in', async () => {
    await demand('storage orders', 3600)
    const nothing = { name: 'a.png', bytes: new Uint8Array(), mediaType: 'image/png' }
    const upload = async (token: string) =>
      (await sendFile({ url: service().url, token, ...nothing })).status
    const [, proxy = ''] = basic(asResourceServer.client_id, asResourceServer.client_secret)
    const forwarded = async (token: string, scope: string) => {
      const headers = [...bearer(token), 'X-Forward-Auth-Client', proxy]
      return (await get(`${service().url}${paths.forwardAuth}?scope=${scope}`, headers)).status
    }
    const weak = await tokenOf()
    expect(await upload(weak)).to.equal(401)
    expect(await forwarded(weak, 'orders:read')).to.equal(401)
    expect(await forwarded(weak, 'courses:read')).to.equal(200)
    const strong = await strongToken()
    expect(await upload(strong)).to.equal(400)
    expect((await ask(strong, remove)).status).to.equal(200)
    aheadMs = 3_500_000
    expect((await ask(strong, remove)).status).to.equal(200)
    await demand('storage', 600)
    expect((await ask(strong, remove)).status).to.equal(401)
  })

  it('covers every mutation that removes something', () => {
    const known = Object.keys(makeAdminSchema().getMutationType()?.getFields() ?? {})
    const removing = known.filter((name) => /^(delete|remove)/.test(name))
    expect([...sensitiveOperations]).to.include.members(removing)
    expect(known).to.include.members([...sensitiveOperations])
  })

  // [344, 345]
  it('is demanded on the pages for secrets and deletions, and set only by an owner with two factors', async () => {
    const { url, kysely } = service()
    const weak = makePagePerson(url, olivia)
    await expectNeeded(weak.visit(page))
    await weak.post(page, { csrf: await weak.csrf(), for: 'everything' })
    expect(await rowsOf(kysely, 'site_assurance')).to.deep.equal([])

    const owner = makePagePerson(url, olivia)
    await owner.visit(site)
    await useTwoFactors(owner.browser, service())
    const form = await owner.visit(page)
    expect(form.path).to.equal(page)
    const typed = { for: 'sensitive', 'max-age': '86400', area: ['orders', 'posts', 'nonsense'] }
    expect((await owner.send(form, page, typed)).text).to.include('id="done"')
    const demanded = { site_id: 'sit_northlight', areas: 'orders posts', max_age_seconds: 86_400 }
    expect(await rowOf(kysely, 'site_assurance')).to.include(demanded)
    const [event] = await rowsOf(kysely, 'audit_event', { action: 'site.assurance' })
    expect(event?.after).to.include('orders')

    const portal = `${site}/applications/northlight-portal/delete`
    expect((await owner.visit(portal)).path).to.equal(portal)
    const admin = makePagePerson(url, olivia)
    await expectNeeded(admin.visit(portal))
    const home = await admin.visit(site)
    expect(home.status).to.equal(200)
    await expectNeeded(admin.send(home, `${site}/self-sign-up`))
    expect((await owner.submit(page, { for: 'nothing' })).text).to.include('id="done"')
    expect(await rowsOf(kysely, 'site_assurance')).to.deep.equal([])
    expect((await makePagePerson(url, sam).visit(page)).status).to.equal(403)
  })

  // [346]
  it('can cover every page, form and script of the operators', async () => {
    const { url, kysely } = service()
    const owner = makePagePerson(url, olivia)
    const other = makePagePerson(url, olivia)
    const csrf = hiddenField((await other.visit(`${site}/queries`)).text)
    const form = await other.visit(site)
    await owner.visit(site)
    await useTwoFactors(owner.browser, service())
    await owner.submit(page, { for: 'everything', area: 'orders' })
    expect(await rowOf(kysely, 'site_assurance')).to.include({ areas: '*', max_age_seconds: null })
    expect(await owner.visit(`${site}/audit`)).to.include({ status: 200, path: `${site}/audit` })
    expect((await owner.visit(page)).text).to.match(/value="everything"[^>]* checked/)

    for (const path of [site, `${site}/audit?from=x`, `${site}/overview`, `${site}/queries`]) {
      const asked = targetOf(await other.open(path), url).searchParams
      expect([asked.get('prompt'), asked.get('acr_values')], path).to.deep.equal(['login', MFA_ACR])
      await expectNeeded(other.visit(path))
    }
    const features = await rowsOf(kysely, 'site_feature')
    const on = features.some(({ feature }) => feature === 'self_sign_up') ? 'no' : 'yes'
    await expectNeeded(other.send(form, `${site}/self-sign-up`, { on }))
    expect(await rowsOf(kysely, 'site_feature')).to.deep.equal(features)
    const script = { method: 'POST', headers: { 'x-form-token': csrf }, body: '{}' }
    expect((await other.open(`${site}/queries/run`, script)).status).to.equal(401)
    // A later sign-in in the browser must not count for an older page session, whose cookie may have been stolen.
    const copied = makePagePerson(url, olivia)
    await copied.visit('/account')
    await useTwoFactors(copied.browser, service())
    expect((await copied.visit(`${site}/audit`)).path).to.equal(`${site}/audit`)
    await change(kysely, 'browser_session', {}, { authenticated_at: Date.now() + 9000 })
    expect((await copied.open(`${site}/audit`)).status).to.equal(303)
    expect((await makePagePerson(url, olivia).visit('/account')).status).to.equal(200)
  })

  // [347]
  it('can cover every operator scope, both at authorization and for earlier tokens', async () => {
    const { url, kysely } = service()
    const before = await tokenOf('courses:read')
    const read = '{ courses(first: 1) { totalCount } }'
    expect((await ask(before, read)).status).to.equal(200)
    await demand('*')
    expect(refusalOf(await ask(before, read))).to.equal('401 insufficient_user_authentication')
    expect((await callTool(url, 'list_site_courses', { token: before })).status).to.equal(401)
    expect((await callTool(url, 'list_public_courses', { token: before })).status).to.equal(200)

    const redirect_uri = 'http://127.0.0.1:9/'
    const wanted = { client_id: 'integration-vscode', redirect_uri, scope: 'openid courses:read' }
    const answerTo = async (person: HeadlessPerson, fields: Fields = wanted) =>
      (await person.authorize(authorizeUrl(url, fields), redirect_uri)).searchParams
    const weak = makeHeadlessPerson(olivia)
    expect((await answerTo(weak)).get('error')).to.equal(unmet)
    const silent = await answerTo(weak, { ...wanted, prompt: 'none' })
    expect(silent.get('error')).to.equal('login_required')
    expect((await codeBy(weak, url)).code, 'a member scope').to.be.a('string')
    const strong = (await obtainCode(url, {}, olivia)).person
    await useTwoFactors(strong, service())
    expect((await answerTo(strong)).has('code')).to.equal(true)
    await demand('*', 600)
    await later(700_000, async () => {
      const { headers } = await strong.open(authorizeUrl(url, wanted))
      expect(headers.get('location'), 'an old sign-in').to.match(/login$/)
    })
    await demand('*')

    // The person chooses the site only after the sign-in.
    const role = { person_id: 'per_olivia', site_id: 'sit_open_kitchen', granted_at: 1 }
    await insert(kysely, 'site_role', { ...role, role: 'admin' })
    const chooser = (await obtainCode(url, {}, olivia)).person
    const choice = targetOf(await chooser.open(authorizeUrl(url, wanted)), url)
    const chosen = await submitPage(chooser, choice, { site: 'sit_northlight' })
    const resumed = await chooser.open(targetOf(chosen, url))
    const signInPage = await (await chooser.open(targetOf(resumed, url))).text()
    expect(signInPage).to.include('id="login-page"').and.include('href="/account/second-factor"')
    const at = async (site: string) => await answerTo(makeHeadlessPerson({ ...olivia, site }))
    expect((await at('sit_open_kitchen')).has('code')).to.equal(true)
    expect((await at('sit_northlight')).get('error')).to.equal(unmet)
  })

  /** Adds an authenticator app for a person. Each call of the returned `code` moves the clock and returns the next code. */
  const withApp = async (who: typeof olivia) => {
    const { codeAt } = await addApp(makePagePerson(service().url, who), Date.now() + aheadMs)
    const code = () => {
      aheadMs += 30_000
      return codeAt(Date.now() + aheadMs)
    }
    return { ...who, code }
  }

  // [RFC 9470 §3; RFC 9470 §4]
  it('is understood by openid-client, which reads the challenge and steps up', async () => {
    const { url } = service()
    const asking = { clientId: 'integration-vscode', redirectUri: 'http://127.0.0.1:9/' }
    const scope = 'openid courses:read storage:write'
    const { configuration, tokens } = await getTokens(url, { ...asking, scope, person: amir })
    const run = async (token: string) =>
      await oidc.fetchProtectedResource(
        configuration,
        token,
        new URL(url + paths.adminGraphql),
        'POST',
        JSON.stringify({ query: remove }),
        new Headers({ 'content-type': 'application/json' }),
      )
    expect((await run(tokens.access_token)).status).to.equal(200)
    await demand('', 600)
    const refused = await run(tokens.access_token).catch((error: unknown) => error)
    if (!(refused instanceof oidc.WWWAuthenticateChallengeError)) throw new Error('not challenged')
    const challenge: Record<string, string | undefined> = { ...refused.cause[0]?.parameters }
    const { error, scope: wanted, acr_values = '', max_age = '' } = challenge
    expect(error).to.equal('insufficient_user_authentication')
    const stronger = { parameters: { acr_values, max_age }, person: await withApp(amir) }
    const stepped = await getTokens(url, { ...asking, ...stronger, scope: wanted ?? '' })
    expect((await run(stepped.tokens.access_token)).status).to.equal(200)
  })

  it('is met by an MCP client that ignores step-up challenges, if every operator scope requires it', async () => {
    const answers = { ...olivia }
    const redirectUri = 'http://127.0.0.1:9/callback'
    const { provider, callback } = sdkProvider({ redirectUri }, answers)
    const call = async () => {
      const address = new URL(service().url + paths.mcp)
      const transport = new StreamableHTTPClientTransport(address, { authProvider: provider })
      const client = new Client({ name: 'test', version: '1' })
      await client.connect(transport)
      try {
        return (await client.callTool({ name: 'list_site_courses', arguments: {} })) as object
      } catch (error) {
        await transport.finishAuth(callback())
        return error
      } finally {
        await client.close()
      }
    }
    expect(await call()).to.be.instanceOf(UnauthorizedError)
    expect(await call()).to.have.property('content')
    await demand('*')
    Object.assign(answers, await withApp(olivia))
    expect(await call()).to.be.instanceOf(UnauthorizedError)
    expect(await call()).to.have.property('content')
  })
})
