import type { Config } from '../src/config/config.ts'
import { readScope } from '../src/directory/scopes/catalogue.ts'
import { checkDatabase } from '../src/ops/doctor/store-checks.ts'
import { pathForChanges, paths } from '../src/platform/http/paths.ts'
import { asPortal, introspect, obtain, obtainCode, refresh, userinfo } from './support/client.ts'
import { policyWith, portal, resourceServer, startService, startWith } from './support/gatehouse.ts'
import { type Calling, callTool, operatorToken } from './support/mcp.ts'
import { askMember, memberToken } from './support/member-api.ts'
import { eventually } from './support/programs.ts'
import { basic, get, postForm, refusalOf, send } from './support/wire.ts'

/** Uses up the failure limit of the IP address, as any client behind the same proxy can. */
async function useUpFailures(url: string) {
  const form = { grant_type: 'refresh_token', refresh_token: 'x', client_id: portal.clientId }
  await postForm(url + paths.token, { ...form, client_secret: 'guessed' })
  await userinfo(url, 'guessed')
}

describe('addresses that people and strangers share', () => {
  const spent = { oauthFailurePointsPerAddressMax: 1, tokenFailurePointsPerAddressMax: 1 }

  // [210]
  it('pass only valid tokens and clients after a stranger used up the failures', async () => {
    await using service = await startService({ policy: policyWith({ limits: spent }) })
    const { url } = service
    const own = await obtain(url)
    const ofPortal = { client_id: portal.clientId, redirect_uri: asPortal.redirect_uri }
    const confidential = await obtain(url, { authorization: ofPortal, token: asPortal })
    const { form } = await obtainCode(url)
    const member = await memberToken(url)
    await useUpFailures(url)

    for (const [what, answer] of [
      ['public refresh', await refresh(url, own.refresh_token)],
      ['refresh', await refresh(url, confidential.refresh_token, asPortal)],
      ['exchange', await postForm(url + paths.token, form)],
      ['UserInfo', await userinfo(url, own.access_token)],
      ['API', await askMember({ url, token: member }, { query: '{ viewer { id } }' })],
    ] as const)
      expect(answer.status, what).to.equal(200)
    expect((await introspect(url, own.access_token)).body.active, 'introspection').to.equal(true)
    const [, proxy = ''] = basic(resourceServer.clientId, resourceServer.clientSecret)
    const guarded = ['X-Forward-Auth-Client', proxy, 'Authorization', `Bearer ${own.access_token}`]
    const forwarded = await send(url, { path: paths.forwardAuth, headers: guarded })
    expect(forwarded.status, 'forward auth').to.be.oneOf([200, 400])

    const asImpostor = { ...asPortal, client_secret: 'guessed' }
    for (const [what, answer] of [
      ['secret', await refresh(url, confidential.refresh_token, asImpostor)],
      ['refresh token', await refresh(url, 'guessed')],
      ['code', await postForm(url + paths.token, { ...form, code: 'guessed' })],
      ['token', await userinfo(url, 'guessed')],
      ['no token', await get(url + paths.userinfo)],
    ] as const) {
      expect(answer.status, what).to.equal(429)
      expect(answer.headers.get('retry-after'), what).to.match(/^\d+$/)
      expect(answer.headers.get('www-authenticate'), what).to.equal(null)
    }
  })

  // [Not shown 12]
  it('pass only valid tokens to the tools after a stranger used up both limits there [210]', async () => {
    const policy = policyWith({ limits: spent, mcp: { requestsPerAddressMax: 1 } })
    await using service = await startService({ policy })
    const member = await memberToken(service.url)
    const operator = await operatorToken(service.url, readScope('courses'))
    const call = async (how: Calling = {}) => await callTool(service.url, 'list_sites', how)
    expect((await call({ token: 'guessed', path: paths.mcpAdmin })).status).to.equal(401)
    expect((await call()).status, 'no token has a limit of its own').to.equal(200)

    for (const how of [
      ...[{ token: member }, { token: operator }, { token: member, path: paths.mcpMember }],
      { token: operator, path: paths.mcpAdmin },
    ])
      expect((await call(how)).status, how.path).to.equal(200)
    for (const path of [paths.mcp, paths.mcpMember, paths.mcpAdmin, pathForChanges(['courses'])]) {
      for (const how of [{}, { token: 'guessed' }, { headers: { authorization: '' } }]) {
        const answer = await call({ path, ...how })
        expect(answer.status, path).to.equal(429)
        expect(answer.body.error.data.error, path).to.equal('too_many_requests')
        expect(answer.headers.get('retry-after')).to.match(/^\d+$/)
        expect(answer.headers.get('www-authenticate')).to.equal(null)
      }
    }
  })

  it('limit the cost of invalid credentials after the failures are used up [211]', async () => {
    const limits = { ...spent, verificationPointsPerAddressMax: 3 }
    await using service = await startWith({ limits })
    const { url } = service
    const { access_token } = await obtain(url)
    await useUpFailures(url)
    expect((await userinfo(url, access_token)).status).to.equal(200)
    expect((await userinfo(url, 'guessed')).status).to.equal(429)
    expect(refusalOf(await userinfo(url, access_token))).to.equal('429 too_many_requests')
    expect((await callTool(url, 'list_sites', { token: access_token })).status).to.equal(429)
  })
})

describe('a proxy whose X-Forwarded-For is ignored', () => {
  const findings = async (config: Config) =>
    (await Array.fromAsync(checkDatabase(config))).flatMap(({ check }) =>
      check?.startsWith('proxy.') ? check : [],
    )

  it('is logged twice a day and found by doctor, until it is trusted [213]', async () => {
    let nowMs = Date.now()
    await using service = await startService({ now: () => nowMs })
    const { url, log, config } = service
    expect(await findings(config)).to.deep.equal([])
    const warnings = async () => {
      await get(url + paths.jwks, ['X-Forwarded-For', '198.51.100.1'])
      return log.filter((line) => line.includes('set TRUST_PROXY=yes')).length
    }
    expect([await warnings(), await warnings()]).to.deep.equal([1, 1])
    nowMs += 13 * 3_600_000
    expect(await warnings()).to.equal(2)
    // The service stores the time of the warning in the background.
    await eventually(10_000, async () => {
      expect(await findings(config)).to.deep.equal(['proxy.ignored'])
    })
    expect(await findings({ ...config, trustProxy: true })).to.deep.equal([])
    const open = { ...config, trustProxy: true, host: '0.0.0.0' }
    expect(await findings(open)).to.deep.equal(['proxy.anyone'])
  })
})
