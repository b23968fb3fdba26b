import * as oidc from 'openid-client'

import { makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import { authorizeUrl, exchange, introspect, refresh, revoke, userinfo } from '../support/client.ts'
import { sam } from '../support/gatehouse.ts'
import { submitPage } from '../support/page-person.ts'
import { patientService, startBalancedPair, startProcess } from '../support/process.ts'
import { startRedisCluster } from '../support/redis.ts'
import { getTokens } from '../support/relying-party.ts'
import { shared } from '../support/shared.ts'
import { requireProgram } from '../support/skipped.ts'
import { SECRET, sharedDemo, sharedRedis } from '../support/storages.ts'
import { refusalOf } from '../support/wire.ts'

describe('several processes on one PostgreSQL and one Redis', () => {
  const [redis, demo] = [sharedRedis(), sharedDemo()]
  const pair = shared(async () => await startBalancedPair({ ...demo(), REDIS_URL: redis().url }))

  function at(process: { readonly url: string }, url: URL | string): URL {
    const { pathname, search } = new URL(url, process.url)
    return new URL(pathname + search, process.url)
  }

  it('share an interaction and the session: authorize at A, sign in at B, consent at A, exchange at B, refresh at A', async () => {
    const { first, second, url: resource } = pair()
    const person = makeHeadlessPerson(sam)
    const url = authorizeUrl(resource)
    const login = await follow(person.open(at(first, url)))
    const signedIn = await follow(submitPage(person, at(second, login), sam))
    const consent = await follow(person.open(at(first, signedIn)))
    expect(consent).to.match(/\/consent$/)
    const consented = await follow(submitPage(person, at(first, consent)))
    const callback = new URL(await follow(person.open(at(second, consented))))
    const code = callback.searchParams.get('code') ?? ''
    const exchanged = await exchange(second.url, code, { resource })
    expect(exchanged.status).to.equal(200)
    expect((await refresh(first.url, exchanged.body.refresh_token)).status).to.equal(200)
    for (const process of [first, second])
      expect(await follow(person.open(at(process, url)))).not.to.match(/\/login$/)
  })

  // [threat 13; 85]
  it('refuse at A at once what was revoked at B [design 12]', async () => {
    const { first, second, url } = pair()
    const { access_token, refresh_token = '' } = (await getTokens(url)).tokens
    expect((await userinfo(first.url, access_token)).status).to.equal(200)
    expect((await revoke(second.url, refresh_token)).status).to.equal(200)
    expect((await userinfo(first.url, access_token)).status).to.equal(401)
    expect((await introspect(first.url, access_token)).body).to.deep.equal({ active: false })
    expect(refusalOf(await refresh(first.url, refresh_token))).to.equal('400 invalid_grant')
  })
})

it('a process on a Redis Cluster serves the whole flow, and revocation ends it', async function () {
  await using cluster = await startRedisCluster(requireProgram(this, 'redis-server'))
  const variables = { SECRET, REDIS_CLUSTER_NODES: cluster.addresses.join(',') }
  await using service = await startProcess(variables, patientService)
  const { configuration, tokens } = await getTokens(service.url)
  const refreshed = await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
  expect((await introspect(service.url, refreshed.access_token)).body.active).to.equal(true)
  await oidc.tokenRevocation(configuration, refreshed.refresh_token ?? '')
  for (const { access_token } of [tokens, refreshed])
    expect((await userinfo(service.url, access_token)).status).to.equal(401)
  const sizes = await Promise.all(cluster.nodes.map((node) => node.ask('DBSIZE')))
  expect(sizes.filter((size) => Number(size) > 0)).to.have.length.greaterThan(1)
})

async function follow(answer: Promise<Response>): Promise<string> {
  const { status, headers } = await answer
  expect(status).to.equal(303)
  return headers.get('location') ?? ''
}
