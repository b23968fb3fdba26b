import { expect } from 'chai'
import { decodeProtectedHeader } from 'jose'

import { readScope } from '../../src/directory/scopes/catalogue.ts'
import { paths } from '../../src/platform/http/paths.ts'
import { obtain } from '../support/client.ts'
import { operatorToken } from '../support/mcp.ts'
import {
  configWith,
  dataFolderWithDemo,
  patientService,
  runGatehouse,
  startProcess,
} from '../support/process.ts'
import { eventually, freePort } from '../support/programs.ts'
import { mapping, startPlatform } from '../support/upstream.ts'
import { answerOf } from '../support/wire.ts'

describe('keys for what is forwarded', () => {
  it('rotate as those of id_tokens do, each by itself', async function () {
    this.timeout(90_000)
    const port = await freePort()
    const DATA_DIR = await dataFolderWithDemo()
    const CONFIG_DIR = configWith((policy) => ({
      ...policy,
      keys: { ...policy.keys, publishLeadSeconds: 1, reloadSeconds: 1 },
      upstreams: mapping(port).filter(({ path }) => path === 'coupons'),
    }))
    await using service = await startProcess({ DATA_DIR, CONFIG_DIR }, patientService)
    const { url } = service
    const platform = await startPlatform(port, url)
    const token = await operatorToken(url, readScope('coupons'))
    const kid = async () => {
      const headers = { authorization: `Bearer ${token}` }
      const { body } = await answerOf(await fetch(`${url}/admin/api/coupons`, { headers }))
      const at = body.headers.findIndex((name: string) => name.toLowerCase() === 'authorization')
      return decodeProtectedHeader(body.headers[at + 1].replace('Bearer ', '')).kid
    }
    const [old, idToken] = [await kid(), (await obtain(url)).id_token ?? '']
    await eventually(20_000, async () => {
      const words = ['keys', 'rotate', '--upstream']
      const { code, stderr } = await runGatehouse(words, { DATA_DIR, CONFIG_DIR })
      expect(code, stderr).to.equal(0)
    })
    await eventually(20_000, async () => expect(await kid()).not.to.equal(old))
    const { id_token: later = '' } = await obtain(url)
    expect(decodeProtectedHeader(later).kid).to.equal(decodeProtectedHeader(idToken).kid)
    const { keys } = (await answerOf(await fetch(url + paths.jwks))).body
    expect(keys.map(({ kid: each }: { kid: string }) => each)).to.include(old)
    expect(keys).to.have.length(5)
    const { stdout } = await runGatehouse(['keys', 'list'], { DATA_DIR, CONFIG_DIR })
    expect(stdout).to.match(/For the platform's own API:\n\S+ {2}current .*\n\S+ {2}next /)
    expect((await runGatehouse(['doctor'], { DATA_DIR, CONFIG_DIR })).stdout).to.match(
      /keys for the platform's own API open with this secret/,
    )
    await platform.kill()
  })
})
