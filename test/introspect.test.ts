import { expect } from 'chai'

import { introspect, obtain, refresh, type Tokens, userinfo } from './support/client.ts'
import { notes, startService } from './support/gatehouse.ts'
import { sharedService } from './support/shared-service.ts'
import { refusalOf } from './support/wire.ts'

const inactive = { active: false }

describe('POST /api/oauth/introspect', () => {
  const service = sharedService()

  it('calls the tokens of a client that is gone from the database inactive, and does not fail', async () => {
    await using changing = await startService()
    const { url } = changing
    const tokens = await obtain(url)
    await changing.service.stores.database.kysely
      .deleteFrom('oauth_application')
      .where('client_id', '=', notes.clientId)
      .execute()
    for (const token of [tokens.access_token, tokens.refresh_token]) {
      const answer = await introspect(url, token)
      expect(answer.status).to.equal(200)
      expect(answer.body).to.deep.equal(inactive)
    }
    expect(refusalOf(await userinfo(url, tokens.access_token))).to.equal('401 invalid_token')
    expect(refusalOf(await refresh(url, tokens.refresh_token))).to.equal('401 invalid_client')
  })

  it('calls a used refresh token inactive, and its successor active', async () => {
    const { url } = service()
    const tokens = await obtain(url)
    const next = (await refresh(url, tokens.refresh_token)).body as Tokens
    expect((await introspect(url, tokens.refresh_token)).body).to.deep.equal(inactive)
    expect((await introspect(url, next.refresh_token)).body).to.include({ active: true })
  })
})
