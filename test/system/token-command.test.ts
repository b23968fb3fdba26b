import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { scopeNames } from '../../src/directory/scopes/catalogue.ts'
import { paths } from '../../src/platform/http/paths.ts'
import { sharedService } from '../support/storages.ts'
import { bearer, get } from '../support/wire.ts'

const run = promisify(execFile)
const command = join(import.meta.dirname, '../../tools/token/token.ts')

describe('npm run token', () => {
  const service = sharedService()
  const token = async (...options: string[]) =>
    (await run(process.execPath, [command, '--base-url', service().url, ...options])).stdout

  it('prints tokens of a verified sign-in, and they work [Authentication 3]', async () => {
    const { claims, access_token } = JSON.parse(await token('--json'))
    expect(claims).to.include({ sub: 'per_sam', aud: 'northlight-notes', iss: service().url })
    const { status, body } = await get(service().url + paths.userinfo, bearer(access_token))
    expect(status).to.equal(200)
    expect(body).to.include({ sub: 'per_sam', org_id: 'sit_northlight' })
  })

  it('prints a request that can be pasted', async () => {
    expect(await token())
      .to.include('id_token verified (ES256)')
      .and.match(/curl \S+\/member\/graphql \\\n {2}-H 'Authorization: Bearer [\w.-]{90,}'/)
  })

  it('signs in another account for other scopes', async () => {
    const options = ['--account', 'noor@northlight.example', '--scope', 'openid profile']
    const { scope, claims } = JSON.parse(await token('--json', ...options))
    expect([scope, claims.sub]).to.deep.equal(['openid profile', 'per_noor'])
  })

  it('obtains an operator’s token with its own client, and prints a request that works', async () => {
    const printed = await token('--as', 'operator')
    expect(printed).to.include('Olivia').and.include('id_token verified (ES256)')
    const [, address = '', authorization = '', body = ''] =
      /curl (\S+) .*?-H 'Authorization: ([^']+)'.*?-d '([^']+)'/s.exec(printed) ?? []
    expect(address).to.equal(`${service().url}/admin/graphql`)
    const headers = { authorization, 'content-type': 'application/json' }
    expect(await (await fetch(address, { method: 'POST', headers, body })).json())
      .to.have.nested.property('data.courses.totalCount')
      .that.is.above(0)
  })

  it('requests all operator scopes, or the named ones', async () => {
    const operator = ['--as', 'operator', '--scope', 'openid school:read']
    const all = JSON.parse(await token('--json', '--as', 'operator'))
    const scopes = [...scopeNames('identity'), ...scopeNames('operator')]
    expect(all.scope.split(' ')).to.have.members(scopes)
    expect(all.claims).to.include({ sub: 'per_olivia', org_id: 'sit_northlight' })
    const some = JSON.parse(await token('--json', ...operator))
    expect(some.scope).to.equal('openid school:read')
    expect(some.client_id).not.to.equal(all.client_id)
    expect(await token(...operator)).to.include('{ site { id name slug } }')
  })

  for (const [options, problem] of [
    [['--account', 'nobody@x.example'], 'not a demo account'],
    [['--as', 'visitor'], '--as must be member or operator'],
    [['--as', 'operator', '--account', 'sam@northlight.example'], 'access_denied'],
    [['--client', 'unknown'], 'invalid_client'],
    [['--password', 'wrong'], 'password is wrong'],
    [['--base-url', 'http://127.0.0.1:1'], 'start a service with npm start'],
  ] as const) {
    it(`fails with "${problem}" for ${options.join(' ')}`, async () => {
      const { code, stderr } = await token(...options).catch((error) => error)
      expect(code).to.equal(1)
      expect(stderr).to.include(problem)
    })
  }
})
