import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect } from 'chai'

import { startService } from './support/gatehouse.ts'

const run = promisify(execFile)
const command = join(import.meta.dirname, '../src/cli/token.ts')

/** Runs the command as a person does; a refusal has its text in `stderr`. */
async function token(...options: string[]) {
  return await run(process.execPath, [command, ...options])
}

describe('npm run token', () => {
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

  it('says in a sentence what went wrong, and fails', async () => {
    await using service = await startService()
    const failing = async (...options: string[]) => {
      const refusal = await token('--base-url', service.url, ...options).catch((error) => error)
      expect(refusal.code).to.equal(1)
      return String(refusal.stderr)
    }
    expect(await failing('--account', 'nobody@x.example')).to.include('none of the demo people')
    expect(await failing('--client', 'unknown')).to.include('invalid_client')
    expect(await failing('--password', 'wrong')).to.include('password is wrong')
    const absent = await token('--base-url', 'http://127.0.0.1:1').catch((error) => error)
    expect(String(absent.stderr)).to.include('start one with npm start')
  })
})
