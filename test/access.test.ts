import type { KoaContextWithOIDC } from 'oidc-provider'

import { makeFindGrant } from '../src/oauth/grants/find-grant.ts'
import { type AccessFacts, judgeAccess } from '../src/oauth/grants/judge-access.ts'
import { makeFindAccount } from '../src/oauth/token/claims.ts'
import { logFields } from '../src/platform/http/request-log.ts'
import { accessToken } from './support/access-token.ts'
import {
  asClaude,
  authorizeUrl,
  exchange,
  getCode,
  introspect,
  obtain,
  obtainTokens,
  openAuthorization,
  refresh,
  revoke,
  type Tokens,
  userinfo,
} from './support/client.ts'
import { change, insert, remove, rowOf } from './support/database.ts'
import { notes, olivia, type RunningService, sam, startService } from './support/gatehouse.ts'
import { makePagePerson, type PagePerson, type Seen, textOf } from './support/page-person.ts'
import { fresh } from './support/shared.ts'
import { expectAnswer, type Fields, refusalOf } from './support/wire.ts'

const NOW_MS = 1_800_000_000_000

const facts: AccessFacts = { ...accessToken(), family: undefined }

function judge(known: AccessFacts | undefined, scopes: readonly string[], siteId?: string) {
  return judgeAccess(known && { ...known, grant: { ...known.grant, siteId } }, scopes, NOW_MS)
}

describe('access at each use of a token (design 15) [Not shown 4]', () => {
  const owner = { roles: ['owner'] } as const
  const { grant } = facts
  const ended = { grant: { ...grant, endedBecause: 'the person removed it' }, ...owner } as const
  type Row = readonly [when: string, changed: Partial<AccessFacts> | undefined, ...said: string[]]
  const rows: readonly Row[] = [
    ['a student', {}, 'good', 'no longer an operator', 'good'],
    ['a lecturer', { roles: ['lecturer'] }, 'good', 'no longer an operator', 'good'],
    ['an admin', { roles: ['admin'] }, 'good'],
    ['an owner who also studies', { roles: ['owner', 'student'] }, 'good'],
    ['the last role is lost', { roles: [] }, 'no role', 'no role', 'good'],
    ['the account is removed', undefined, 'does not exist'],
    ['the account is disabled', { personDisabled: true, ...owner }, 'is disabled'],
    ['the client is deleted', { clientDeleted: true, ...owner }, 'was deleted'],
    ['the client has no row', { isApplication: false, ...owner }, 'was deleted', 'good', 'good'],
    ['the client is disabled', { clientDisabled: true, ...owner }, 'client is disabled'],
    ['the feature is off', { featureOff: true, ...owner }, 'disabled MCP connections'],
    ['the grant has ended', ended, 'the grant has ended: the person removed it'],
    ['the grant has expired', { grant: { ...grant, expiresAt: NOW_MS }, ...owner }, 'has expired'],
  ]
  for (const [when, changed, member = '', operator = member, plain = member] of rows) {
    it(`${when}: member ${member}, operator ${operator}, plain sign-in ${plain}`, () => {
      const judgeScope = (scope: string, siteId?: string) =>
        judge(changed && { ...facts, ...changed }, ['openid', scope], siteId) ?? 'good'
      expect(judgeScope('account:read', grant.siteId), 'member').to.include(member)
      expect(judgeScope('courses:read', grant.siteId), 'operator').to.include(operator)
      expect(judgeScope('email'), 'plain').to.include(plain)
    })
  }

  it('refuses a token with member or operator scopes and no site, whatever the roles', () => {
    for (const scopes of [['account:read'], ['openid', 'account:write'], ['courses:write']])
      expect(judge({ ...facts, roles: [] }, scopes), scopes.join()).to.be.a('string')
  })
})

const applications = '/admin/northlight/applications'
const redirect_uri = 'https://planner.example/callback'
const scopes = ['account:read', 'account:write']
const scope = `openid ${scopes.join(' ')}`
const entry = { name: 'Study Planner', redirect_uris: redirect_uri, scope: scopes }

type World = Awaited<ReturnType<typeof makeWorld>>

const effects: Record<string, (world: World) => Promise<unknown>> = {
  'deleting the application': ({ confirmAt }) => confirmAt('/delete'),
  'disabling the application': ({ confirmAt }) => confirmAt('/disable'),
  'narrowing the scopes of the application': async ({ operator, application }) => {
    const narrow = { ...entry, auth_method: 'none', scope: 'account:read' }
    await operator.submit(`${application}/edit`, narrow)
  },
  'switching MCP connections off': ({ operator }) =>
    confirm(operator, '/admin/northlight/beta/off'),
  'ending all access by the application': ({ confirmAt }) => confirmAt('/people/end-all'),
  'ending the access to the account of this person': ({ confirmAt }) =>
    confirmAt('/people/per_sam/end'),
  'removing the application under Connected apps': async ({ service, client }) => {
    const member = makePagePerson(service.url, sam)
    const query = `client=${client['client_id']}&site=sit_northlight`
    await member.submit(`/account/apps/remove?${query}`, {}, '/account/apps/remove')
  },
  "removing the person's last role at the site": ({ service }) =>
    remove(service.kysely, 'site_role', { person_id: 'per_sam' }),
  'removing the account': ({ service }) => remove(service.kysely, 'person', { id: 'per_sam' }),
  'disabling the account': ({ service }) =>
    change(service.kysely, 'person', { id: 'per_sam' }, { disabled_at: 1 }),
}

// [threat 13]
describe('access that ends (design 12, 15; CVE-2026-43983, CVE-2025-64521) [71]', () => {
  const running = fresh(startService)
  const confidential = ['deleting the application', 'disabling the application']
  for (const [effect, auth_method] of [
    ...Object.keys(effects).map((effect) => [effect, 'none'] as const),
    ...confidential.map((effect) => [effect, 'client_secret_post'] as const),
  ]) {
    it(`${effect} (${auth_method}) ends tokens and codes in every process [81]`, async () => {
      await using world = await makeWorld(running(), auth_method)
      const { service, urls, client, tokens } = world
      const code = await getCode(service.url, { ...client, scope })
      await expectAlive(urls[1], tokens)
      await effects[effect]?.(world)
      for (const url of urls) await expectDead(url, tokens, client)
      expect(refusalOf(await exchange(service.url, code, client))).to.equal('400 invalid_grant')
      expect((await revoke(service.url, tokens.access_token, client)).status).to.equal(200)
    })
  }

  it('enabling a disabled application makes its tokens work again', async () => {
    await using world = await makeWorld(running())
    const page = await world.confirmAt('/disable')
    await world.operator.send(page, `${world.application}/enable`)
    await expectAlive(world.urls[1], world.tokens)
  })

  it('a browser session does not restore a revoked grant', async () => {
    const { url } = running()
    const { person, answer } = await obtainTokens(url)
    await revoke(url, answer.refresh_token)
    expect((await openAuthorization(person, url)).pathname).to.match(/\/consent$/)
    await person.authorize(authorizeUrl(url), notes.redirectUri)
    await expectDead(url, answer)
  })

  it('the tokens of a client without a database row are inactive, refused and not refreshed', async () => {
    const { url, kysely } = running()
    const tokens = await obtain(url)
    await remove(kysely, 'oauth_application', { client_id: notes.clientId })
    await expectDead(url, tokens, {}, '401 invalid_client')
  })

  it('a vendor platform that is disabled loses its tokens', async () => {
    const { url, kysely } = running()
    const authorization = { ...asClaude, scope: 'openid courses:read' }
    const tokens = await obtain(url, { authorization, token: asClaude, person: olivia })
    const disabled = { client_id: asClaude.client_id, disabled_at: 1, updated_at: 1 }
    await insert(kysely, 'integration_override', disabled)
    await expectDead(url, tokens, asClaude)
  })

  it('a platform that was removed from the configuration counts as a deleted client', async () => {
    const client_id = 'integration-vscode'
    const fields = { client_id, redirect_uri: 'http://127.0.0.1:9/', scope: 'openid courses:read' }
    await obtainTokens(running().url, fields, olivia)
    const grantId = await grantOf(running(), client_id)
    const accessWhere = async (integrations: readonly string[]) => {
      const found = await findGrantIn(running(), integrations)({ grantId })
      return judgeAccess(found, ['openid'], Date.now())
    }
    expect(await accessWhere([client_id])).to.equal(undefined)
    expect(await accessWhere([])).to.equal('the client was deleted')
  })

  it('a code’s grant is valid only for the person and client of the code', async () => {
    await obtainTokens(running().url)
    const grantId = await grantOf(running(), notes.clientId)
    const findGrant = findGrantIn(running())
    const findAccount = makeFindAccount(async () => undefined, findGrant, undefined, Date.now)
    const find = async (personId: string, clientId: string) => {
      const ctx = { state: {} } as KoaContextWithOIDC
      const code = { grantId, clientId, scopes: new Set(['openid']) } as never
      return (await findAccount(ctx, personId, code))?.accountId ?? logFields(ctx).detail
    }
    expect(await find('per_sam', notes.clientId)).to.equal('per_sam')
    const refused = 'the grant belongs to another person or client'
    expect(await find('per_olivia', notes.clientId)).to.equal(refused)
    expect(await find('per_sam', 'northlight-portal')).to.equal(refused)
  })
})

/** Starts a second instance of the service, registers an application, and signs Sam in to the application. */
async function makeWorld(service: RunningService, auth_method = 'none') {
  const { url, config } = service
  const environment = { DATA_DIR: config.dataDir, BASE_URL: config.baseUrl }
  const second = await startService({ environment })
  const operator = makePagePerson(url, olivia)
  const made = await operator.submit(`${applications}/new`, { ...entry, auth_method }, applications)
  const client = {
    client_id: textOf(made, 'client-id'),
    client_secret: auth_method === 'none' ? undefined : textOf(made, 'new-secret'),
    redirect_uri,
  }
  const application = `${applications}/${client.client_id}`
  const tokens = await obtain(url, { authorization: { ...client, scope }, token: client })
  return {
    ...{ service, operator, client, tokens, application },
    urls: [url, `http://127.0.0.1:${second.config.port}`],
    confirmAt: async (action: string) => await confirm(operator, application + action),
    [Symbol.asyncDispose]: () => second[Symbol.asyncDispose](),
  }
}

function findGrantIn({ service }: RunningService, integrations: readonly string[] = []) {
  const admitted = { integrations: new Set(integrations), admitsOrigin: () => true }
  return makeFindGrant(service.stores.database, admitted, Date.now)
}

async function grantOf(service: RunningService, clientId: string): Promise<string> {
  return (await rowOf(service.kysely, 'oauth_grant', { client_id: clientId })).id
}

async function confirm(operator: PagePerson, path: string): Promise<Seen> {
  const asked = await operator.visit(path)
  expectAnswer(asked, 200, 'id="confirm"')
  const done = await operator.send(asked, path)
  expectAnswer(done, 200)
  return done
}

async function expectAlive(url = '', { access_token }: Pick<Tokens, 'access_token'>) {
  expect((await userinfo(url, access_token)).status).to.equal(200)
  expect((await introspect(url, access_token)).body.active).to.equal(true)
}

async function expectDead(
  ...[url, tokens, client = {}, refusal = '400 invalid_grant']: [string, Tokens, Fields?, string?]
): Promise<void> {
  const refused = await userinfo(url, tokens.access_token)
  expect(refused.status).to.equal(401)
  expect(refused.headers.get('www-authenticate')).to.include('error="invalid_token"')
  for (const token of [tokens.access_token, tokens.refresh_token])
    expect((await introspect(url, token)).body).to.deep.equal({ active: false })
  const answer = await refresh(url, tokens.refresh_token, client)
  expect(refusalOf(answer)).to.equal(refusal)
  expect(answer.text, 'the reason is for the log only').to.not.match(/disabled|role|deleted|MCP/)
}
