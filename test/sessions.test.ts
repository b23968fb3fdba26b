import { expect } from 'chai'

import { pages } from '../src/platform/http/paths.ts'
import { olivia } from './support/gatehouse.ts'
import { hiddenField, makePagePerson } from './support/page-person.ts'
import { sharedService } from './support/shared-service.ts'

const MINUTE_MS = 60_000
const portal = '/admin/northlight/applications/northlight-portal'

describe('pages that need a fresh sign-in', () => {
  let aheadMs = 0
  const service = sharedService({ now: () => Date.now() + aheadMs })
  beforeEach(() => {
    aheadMs = 0
  })

  /** The authorization request to which a page or form redirects; undefined if it does not. */
  const asked = (response: Response) => {
    const { pathname, searchParams } = new URL(
      response.headers.get('location') ?? '',
      service().url,
    )
    return pathname === '/oauth/authorize' ? Object.fromEntries(searchParams) : undefined
  }

  it('ask for the password ten minutes after it was given, other pages do not', async () => {
    const person = makePagePerson(service().url, olivia)
    expect((await person.visit(`${portal}/delete`)).status).to.equal(200)
    aheadMs = 11 * MINUTE_MS
    for (const path of [
      `${portal}/delete`,
      '/admin/northlight/resource-servers/demo-resource-server/delete',
    ]) {
      const again = { prompt: 'login', login_hint: olivia.login }
      expect(asked(await person.open(path))).to.include(again)
    }
    expect((await person.visit(portal)).status).to.equal(200)
    expect(asked(await makePagePerson(service().url, olivia).open(portal))).not.to.have.property(
      'prompt',
    )
  })

  it('reject their forms as well, and change nothing', async () => {
    const person = makePagePerson(service().url, olivia)
    const page = await person.visit(portal)
    aheadMs = 11 * MINUTE_MS
    const body = () => new URLSearchParams({ csrf: hiddenField(page.text) })
    for (const path of [`${portal}/delete`, `${portal}/secrets`]) {
      const refused = await person.open(path, { method: 'POST', body: body() })
      expect(asked(refused)).to.include({ prompt: 'login' })
    }
    const { text } = await person.visit(portal)
    expect(text).to.include('Northlight').and.not.include('new-secret')
  })

  it('leave a person who declines to give the password signed in', async () => {
    const person = makePagePerson(service().url, olivia)
    await person.visit(portal)
    aheadMs = 11 * MINUTE_MS
    const start = await person.open(`${portal}/delete`)
    const login = await person.open(start.headers.get('location') ?? '')
    const address = login.headers.get('location') ?? ''
    const csrf = hiddenField(await (await person.open(address)).text())
    const refused = await person.open(`${address}/cancel`, {
      method: 'POST',
      body: new URLSearchParams({ csrf }),
    })
    const resumed = await person.open(refused.headers.get('location') ?? '')
    const back = await person.open(resumed.headers.get('location') ?? '')
    expect(back.headers.get('location')).to.equal(pages.admin)
    expect((await person.visit(portal)).status).to.equal(200)
  })
})
