import { expect } from 'chai'
import type { KoaContextWithOIDC } from 'oidc-provider'

import { MCP_CONNECTIONS } from '../src/directory/sites/site-admin.ts'
import { type AccessFacts, judgeAccess } from '../src/oauth/grants/access.ts'
import { makeFindGrant } from '../src/oauth/grants/find-grant.ts'
import { makeFindAccount } from '../src/oauth/token/claims.ts'
import { paths } from '../src/platform/http/paths.ts'
import { logFields } from '../src/platform/http/request-log.ts'
import type { Database } from '../src/platform/store/database.ts'
import {
  asPortal,
  exchange,
  getCode,
  obtain,
  obtainTokens,
  refresh,
  revoke,
} from './support/client.ts'
import {
  marco,
  notes,
  olivia,
  portal,
  type RunningService,
  resourceServer,
  sam,
  startService,
} from './support/gatehouse.ts'
import { bearer, postForm, refusalOf, send } from './support/wire.ts'

const NOW_MS = 1_800_000_000_000

const facts: AccessFacts = {
  grant: {
    id: 'g',
    personId: 'per_x',
    clientId: 'a-client',
    clientOrigin: 'site',
    siteId: 'sit_x',
    documentFingerprint: undefined,
    allowed: {},
    grantedAt: 1,
    expiresAt: NOW_MS + 1,
    endedBecause: undefined,
  },
  person: { id: 'per_x', name: 'X', email: 'x@example.com', picture: undefined },
  personDisabled: false,
  roles: ['student'],
  clientDisabled: false,
  clientDeleted: false,
  isApplication: true,
  featureOff: false,
  family: undefined,
  callerVersion: 0,
}

/** A use of a token: at the grant's site unless it says else. */
interface Use {
  readonly scopes: readonly string[]
  readonly atNoSite?: boolean
}
const member: Use = { scopes: ['openid', 'account:read'] }
const operator: Use = { scopes: ['openid', 'courses:read'] }
const plain: Use = { scopes: ['openid', 'email'], atNoSite: true }

function judge(known: AccessFacts | undefined, { scopes, atNoSite }: Use) {
  const grant = known && atNoSite ? { ...known.grant, siteId: undefined } : known?.grant
  return judgeAccess(known && grant && { ...known, grant }, scopes, NOW_MS)
}

// [Not shown 4]
describe('access: judged at every use of a token (design 15)', () => {
  const rows: readonly [
    when: string,
    changed: Partial<AccessFacts> | undefined,
    expected: { readonly member: string; readonly operator: string; readonly plain: string },
  ][] = [
    ['a student', {}, row('good', 'does not operate', 'good')],
    ['a lecturer', { roles: ['lecturer'] }, row('good', 'does not operate', 'good')],
    ['an admin', { roles: ['admin'] }, row('good', 'good', 'good')],
    ['an owner who also studies', { roles: ['owner', 'student'] }, row('good', 'good', 'good')],
    ['the last role is lost', { roles: [] }, row('no role', 'no role', 'good')],
    ['the account is gone, and its grant with it', undefined, all('does not exist')],
    ['the account is disabled', { personDisabled: true, roles: ['owner'] }, all('is disabled')],
    ['the client is deleted', { clientDeleted: true, roles: ['owner'] }, all('was deleted')],
    [
      'the client is no application, as one is whose row is gone',
      { isApplication: false, roles: ['owner'] },
      row('was deleted', 'good', 'good'),
    ],
    [
      'the client is disabled',
      { clientDisabled: true, roles: ['owner'] },
      all('client is disabled'),
    ],
    [
      'the feature is off',
      { featureOff: true, roles: ['owner'] },
      all('switched MCP connections off'),
    ],
    [
      'the grant has ended',
      { grant: { ...facts.grant, endedBecause: 'the person removed it' }, roles: ['owner'] },
      all('the grant has ended: the person removed it'),
    ],
    [
      'the grant has expired',
      { grant: { ...facts.grant, expiresAt: NOW_MS }, roles: ['owner'] },
      all('has expired'),
    ],
  ]

  for (const [when, changed, expected] of rows) {
    it(`${when}: ${JSON.stringify(expected)}`, () => {
      for (const [name, use] of Object.entries({ member, operator, plain })) {
        const said = judge(changed && { ...facts, ...changed }, use) ?? 'good'
        expect(said, name).to.include(expected[name as keyof typeof expected])
      }
    })
  }

  it('a token for a site that names none is of no use, whatever roles the person has', () => {
    for (const scopes of [['account:read'], ['openid', 'account:write'], ['courses:write']]) {
      const lost = judge({ ...facts, roles: [] }, { scopes, atNoSite: true })
      expect(lost, scopes.join()).to.be.a('string')
    }
  })

  function row(member: string, operator: string, plain: string) {
    return { member, operator, plain }
  }

  function all(reason: string) {
    return row(reason, reason, reason)
  }
})

// [threat 13]
describe('access: what is lost ends tokens at once (design 12, 15; CVE-2026-43983, CVE-2025-64521) [71]', () => {
  type Change = (database: Database) => Promise<unknown>
  const disablePerson: Change = ({ kysely }) =>
    kysely
      .updateTable('person')
      .set({ disabled_at: Date.now() })
      .where('email_canonical', 'in', [sam.login, marco.login])
      .execute()
  const setApplication =
    (set: { disabled_at: number } | { deleted_at: number }): Change =>
    ({ kysely }) =>
      kysely
        .updateTable('oauth_application')
        .set(set)
        .where('client_id', 'in', [notes.clientId, portal.clientId])
        .execute()

  const ends: readonly [when: string, change: Change][] = [
    ['the account is disabled', disablePerson],
    ['the client is disabled', setApplication({ disabled_at: 1 })],
    ['the client is deleted', setApplication({ deleted_at: 1 })],
    [
      'the last role at the site is lost',
      ({ kysely }) => kysely.deleteFrom('site_role').where('person_id', '=', 'per_sam').execute(),
    ],
    [
      'the account is removed',
      ({ kysely }) => kysely.deleteFrom('person').where('id', '=', 'per_sam').execute(),
    ],
    [
      'the person removes the connected application',
      ({ kysely }) =>
        kysely
          .updateTable('oauth_grant')
          .set({ ended_at: 1, end_reason: 'the person removed it' })
          .where('person_id', '=', 'per_sam')
          .execute(),
    ],
    [
      'the site switches MCP connections off',
      ({ kysely }) =>
        kysely.deleteFrom('site_feature').where('feature', '=', MCP_CONNECTIONS).execute(),
    ],
  ]

  for (const [when, change] of ends) {
    // [81]
    it(`${when}: UserInfo 401, introspection inactive, code and refresh invalid_grant`, async () => {
      await using service = await startService()
      const { url } = service
      const tokens = await obtainTokens(url)
      const confidential = await obtain(url, { authorization: asPortal, token: asPortal })
      const code = await getCode(url)
      await expectAlive(service, tokens.accessToken)
      await change(service.service.stores.database)
      await expectDead(service, tokens)
      for (const refused of [
        await exchange(url, code),
        await refresh(url, confidential.refresh_token, asPortal),
      ]) {
        expect(refusalOf(refused)).to.equal('400 invalid_grant')
      }
      expect((await revoke(url, tokens.accessToken)).status).to.equal(200)
    })
  }

  it('an operator who becomes a student loses the operator token and keeps a plain sign-in', async () => {
    await using service = await startService()
    const asVendor = {
      client_id: 'integration-claude',
      redirect_uri: 'https://claude.ai/api/mcp/auth_callback',
    }
    const operating = await obtainTokens(
      service.url,
      { ...asVendor, scope: 'openid courses:read' },
      marco,
    )
    const signedIn = await obtainTokens(
      service.url,
      { ...asVendor, scope: 'openid', resource: undefined },
      marco,
    )
    await service.service.stores.database.kysely
      .deleteFrom('site_role')
      .where('person_id', '=', 'per_marco')
      .where('role', 'in', ['owner', 'admin'])
      .execute()
    await expectDead(service, operating, asVendor.client_id)
    await expectAlive(service, signedIn.accessToken)
  })

  it('a vendor platform that is disabled loses its tokens', async () => {
    await using service = await startService()
    const client_id = 'integration-claude'
    const redirect_uri = 'https://claude.ai/api/mcp/auth_callback'
    const fields = { client_id, redirect_uri, scope: 'openid courses:read' }
    const tokens = await obtainTokens(service.url, fields, marco)
    await service.service.stores.database.kysely
      .insertInto('integration_override')
      .values({ client_id, disabled_at: 1, updated_at: 1 })
      .execute()
    await expectDead(service, tokens, client_id)
  })

  it('a platform that was taken out of the configuration is a deleted client', async () => {
    await using service = await startService()
    const { database } = service.service.stores
    const fields = {
      client_id: 'integration-vscode',
      redirect_uri: 'http://127.0.0.1:9/',
      scope: 'openid courses:read',
    }
    await obtainTokens(service.url, fields, olivia)
    const grant = await database.kysely
      .selectFrom('oauth_grant')
      .select('id')
      .where('client_id', '=', 'integration-vscode')
      .executeTakeFirstOrThrow()
    const accessWhere = async (integrations: readonly string[]) => {
      const admitted = { integrations: new Set(integrations), admitsOrigin: () => true }
      const found = await makeFindGrant(database, admitted)({ grantId: grant.id })
      return judgeAccess(found, ['openid'], Date.now())
    }
    expect(await accessWhere(['integration-vscode'])).to.equal(undefined)
    expect(await accessWhere([])).to.equal('the client was deleted')
  })

  it('the grant of a code is of use to its own person and client only', async () => {
    await using service = await startService()
    await obtainTokens(service.url)
    const { database } = service.service.stores
    const { id } = await database.kysely
      .selectFrom('oauth_grant')
      .select('id')
      .where('client_id', '=', notes.clientId)
      .executeTakeFirstOrThrow()
    const admitted = { integrations: new Set<string>(), admitsOrigin: () => true }
    const findAccount = makeFindAccount({
      grants: { findGrant: makeFindGrant(database, admitted) },
      people: { findPerson: async () => undefined },
      conformance: undefined,
      platform: { now: Date.now },
    })
    const find = async (personId: string, clientId: string) => {
      const ctx = { state: {} } as KoaContextWithOIDC
      const code = { grantId: id, clientId, scopes: new Set(['openid']) } as never
      const account = await findAccount(ctx, personId, code)
      return account?.accountId ?? logFields(ctx).detail
    }
    expect(await find('per_sam', notes.clientId)).to.equal('per_sam')
    const refused = 'the grant is of another person or client'
    expect(await find('per_olivia', notes.clientId)).to.equal(refused)
    expect(await find('per_sam', 'northlight-portal')).to.equal(refused)
  })

  it('roles are those of now, and org_id is the site of the grant', async () => {
    await using service = await startService()
    const { accessToken } = await obtainTokens(service.url)
    await service.service.stores.database.kysely
      .insertInto('site_role')
      .values({
        person_id: 'per_sam',
        site_id: 'sit_northlight',
        role: 'lecturer',
        granted_at: Date.now(),
      })
      .execute()
    for (const seen of [
      await userinfo(service, accessToken),
      await introspect(service, accessToken),
    ]) {
      expect(seen.body).to.deep.include({
        org_id: 'sit_northlight',
        roles: ['lecturer', 'student'],
      })
    }
  })

  async function userinfo({ url }: RunningService, token: string) {
    return await send(url, { path: paths.userinfo, headers: bearer(token) })
  }

  async function introspect({ url }: RunningService, token: string) {
    const { clientId: client_id, clientSecret: client_secret } = resourceServer
    return await postForm(url + paths.introspection, { token, client_id, client_secret })
  }

  async function expectAlive(service: RunningService, token: string): Promise<void> {
    expect((await userinfo(service, token)).status).to.equal(200)
    expect((await introspect(service, token)).body['active']).to.equal(true)
  }

  async function expectDead(
    ...[service, tokens, client_id = notes.clientId]: [
      RunningService,
      { accessToken: string; refreshToken: string },
      string?,
    ]
  ): Promise<void> {
    const refused = await userinfo(service, tokens.accessToken)
    expect(refused.status).to.equal(401)
    expect(refused.headers.get('www-authenticate')).to.include('error="invalid_token"')
    expect((await introspect(service, tokens.accessToken)).body).to.deep.equal({ active: false })
    expect((await introspect(service, tokens.refreshToken)).body).to.deep.equal({ active: false })
    const answer = await refresh(service.url, tokens.refreshToken, { client_id })
    expect(refusalOf(answer)).to.equal('400 invalid_grant')
    expect(answer.text, 'why is for the log only').to.not.match(/disabled|role|deleted|MCP/)
  }
})
