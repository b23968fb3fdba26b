import { setTimeout as delay } from 'node:timers/promises'

import { endEverything } from '../src/oauth/grants/end-grants.ts'
import { pages } from '../src/platform/http/paths.ts'
import {
  exchange,
  introspect,
  obtainCode,
  obtainTokens,
  openAuthorization,
  refresh,
  userinfo,
} from './support/client.ts'
import { rowsOf } from './support/database.ts'
import { sam } from './support/gatehouse.ts'
import { makePagePerson } from './support/page-person.ts'
import { forEachStorage } from './support/storages.ts'

forEachStorage('a database in which everything ended', (start) => {
  it('refuses earlier grants, tokens, codes and sessions, but no new ones [191]', async () => {
    await using service = await start()
    const { url } = service
    const { database } = service.service.stores
    const before = await obtainTokens(url)
    const { code, person } = await obtainCode(url)
    const pagePerson = makePagePerson(url, sam)
    await pagePerson.visit(pages.account)
    const consent = await openAuthorization(person, url, { prompt: 'consent' })

    expect((await endEverything(database, service.service.now())).grants).to.be.at.least(1)
    // A second call finds nothing to end.
    expect(await endEverything(database, service.service.now())).to.include({ grants: 0 })

    expect((await userinfo(url, before.accessToken)).status).to.equal(401)
    expect((await introspect(url, before.accessToken)).body).to.deep.equal({ active: false })
    expect((await refresh(url, before.refreshToken)).body.error).to.equal('invalid_grant')
    expect((await exchange(url, code)).body.error).to.equal('invalid_grant')
    // The browser's session has ended, and so has its open consent page.
    expect((await openAuthorization(person, url)).pathname).to.match(/\/login$/)
    const open = await person.open(consent)
    expect(open.status === 200 && (await open.text()).includes('per_sam')).to.equal(false)
    expect((await pagePerson.open(pages.account)).status).to.equal(303)

    const events = await rowsOf(database.kysely, 'audit_event', { action: 'grants.end_everything' })
    expect(events).to.have.length(2)
    // Session times are whole seconds. A session of the second in which everything ended still counts as earlier.
    await delay(1000 - (Date.now() % 1000))
    const after = await obtainTokens(url)
    expect((await userinfo(url, after.accessToken)).status).to.equal(200)
    expect((await refresh(url, after.refreshToken)).status).to.equal(200)
  })
})
