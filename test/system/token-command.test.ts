import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect } from 'chai'

import { scopeNames } from '../../src/directory/scopes/catalogue.ts'
import { startService } from '../support/gatehouse.ts'

interface Data {
  readonly courses: { readonly totalCount: number }
}

const run = promisify(execFile)
const command = join(import.meta.dirname, '../../tools/token/token.ts')

/** Runs the command as a person does; a refusal has its text in `stderr`. */
async function token(...options: string[]) {
  return await run(process.execPath, [command, ...options])
}

describe('npm run token', () => {
  // [Authentication 3]
  it('prints tokens of a verified sign-in, and they work', async () => {
    await using service = await startService()
    const { stdout } = await token('--base-url', service.url, '--json')
    const tokens = JSON.parse(stdout)
    expect(tokens.claims).to.include({ sub: 'per_sam', aud: 'northlight-notes', iss: service.url })
    const userinfo = await fetch(`${service.url}/api/oauth/userinfo`, {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    })
    expect(userinfo.status).to.equal(200)
    expect(await userinfo.json()).to.include({ sub: 'per_sam', org_id: 'sit_northlight' })
  })

  it('prints a request that can be pasted', async () => {
    await using service = await startService()
    const { stdout } = await token('--base-url', service.url)
    expect(stdout).to.include('id_token verified (ES256)')
    expect(stdout).to.match(
      /curl \S+\/member\/graphql \\\n {2}-H 'Authorization: Bearer [\w.-]{90,}'/,
    )
  })

  it('signs another account in for other scopes', async () => {
    await using service = await startService()
    const options = ['--account', 'noor@northlight.example', '--scope', 'openid profile']
    const { stdout } = await token('--base-url', service.url, '--json', ...options)
    expect(JSON.parse(stdout)).to.include({ scope: 'openid profile' })
    expect(JSON.parse(stdout).claims.sub).to.equal('per_noor')
  })

  it('obtains a token of an operator with a client of its own, and the request that it prints works', async () => {
    await using service = await startService()
    const { stdout } = await token('--base-url', service.url, '--as', 'operator')
    expect(stdout).to.include('Olivia').and.include('id_token verified (ES256)')
    const [, address = '', bearer = '', body = ''] =
      /curl (\S+) .*?-H '(Authorization: [^']+)'.*?-d '([^']+)'/s.exec(stdout) ?? []
    expect(address).to.equal(`${service.url}/admin/graphql`)
    const answer = await fetch(address, {
      method: 'POST',
      headers: {
        authorization: bearer.replace('Authorization: ', ''),
        'content-type': 'application/json',
      },
      body,
    })
    const { data, errors } = (await answer.json()) as { data: Data; errors: unknown }
    expect(errors).to.equal(undefined)
    expect(data.courses.totalCount).to.be.above(0)
  })

  it('asks for all that an operator may, or for the scopes that are named', async () => {
    await using service = await startService()
    const options = ['--base-url', service.url, '--json', '--as', 'operator']
    const all = JSON.parse((await token(...options)).stdout)
    expect(all.scope.split(' ')).to.have.members([
      ...scopeNames('identity'),
      ...scopeNames('operator'),
    ])
    expect(all.claims).to.include({ sub: 'per_olivia', org_id: 'sit_northlight' })
    const some = JSON.parse((await token(...options, '--scope', 'openid school:read')).stdout)
    expect(some.scope).to.equal('openid school:read')
    expect(some.client_id).not.to.equal(all.client_id)
    const words = ['--base-url', service.url, '--as', 'operator', '--scope', 'openid school:read']
    expect((await token(...words)).stdout).to.include('{ site { id name slug } }')
  })

  it('says in a sentence what went wrong, and fails', async () => {
    await using service = await startService()
    const failing = async (...options: string[]) => {
      const refusal = await token('--base-url', service.url, ...options).catch((error) => error)
      expect(refusal.code).to.equal(1)
      return String(refusal.stderr)
    }
    expect(await failing('--account', 'nobody@x.example')).to.include('none of the demo people')
    expect(await failing('--as', 'visitor')).to.include('--as takes member or operator')
    expect(await failing('--as', 'operator', '--account', 'sam@northlight.example')).to.include(
      'access_denied',
    )
    expect(await failing('--client', 'unknown')).to.include('invalid_client')
    expect(await failing('--password', 'wrong')).to.include('password is wrong')
    const absent = await token('--base-url', 'http://127.0.0.1:1').catch((error) => error)
    expect(String(absent.stderr)).to.include('start one with npm start')
  })
})
