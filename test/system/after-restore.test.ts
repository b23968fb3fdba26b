import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { introspect, obtainTokens, refresh, userinfo } from '../support/client.ts'
import { dataFolderWithDemo, runGatehouse, startProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/programs.ts'

describe('after a restore by other means', () => {
  // [security 3]
  it('grants end-all ends every grant and session once it is confirmed, and prints the counts', async () => {
    const variables = { DATA_DIR: await dataFolderWithDemo() }
    await using service = await startProcess(variables)
    const { url } = service
    const [one, other] = [await obtainTokens(url), await obtainTokens(url)]
    const asked = await runGatehouse(['grants', 'end-all'], variables)
    expect([asked.code, asked.stderr]).to.deep.equal([
      1,
      'Nothing was ended. Answer y, or use --yes without a terminal.\n',
    ])
    expect((await userinfo(url, one.accessToken)).status).to.equal(200)
    const { code, stdout } = await runGatehouse(['grants', 'end-all', '--yes'], variables)
    expect(code).to.equal(0)
    expect(stdout).to.match(
      /^Ended [1-9]\d* grants, all sessions, and [1-9]\d* codes and pending sign-ins\./,
    )
    for (const { accessToken, refreshToken } of [one, other]) {
      expect((await userinfo(url, accessToken)).status).to.equal(401)
      expect((await refresh(url, refreshToken)).body.error).to.equal('invalid_grant')
      expect((await introspect(url, refreshToken)).body).to.deep.equal({ active: false })
    }
  })
})

describe('files that the database names and the folder lacks', () => {
  it('are reported by doctor, backup and verify', async () => {
    const variables = { DATA_DIR: await dataFolderWithDemo() }
    await using service = await startProcess(variables)
    const files = join(variables.DATA_DIR, 'files')
    const named = readdirSync(files).filter((name) => name.length === 2)
    rmSync(join(files, named[0] ?? ''), { recursive: true })
    const { findings } = JSON.parse((await runGatehouse(['doctor', '--json'], variables)).stdout)
    const found = findings.find(({ check }: { check?: string }) => check === 'files.missing')
    expect(found?.sentence).to.match(/lacks 1 of the files that the database names, such as fil_/)
    const folder = join(temporaryFolder(), 'backup')
    for (const command of [['backup'], ['backup', 'verify']]) {
      const { code, stderr } = await runGatehouse([...command, folder], variables)
      expect([code, stderr]).to.deep.equal([
        1,
        `The backup lacks 1 of the files that the database names, such as ${found?.sentence.split('such as ')[1]}. ` +
          'All hosts must share DATA_DIR/files, or use S3.\n',
      ])
    }
    expect(service.url).to.match(/^http/)
  })
})
