import { expect } from 'chai'

import { authorizeUrl, locationOf } from './support/client.ts'
import { notes } from './support/gatehouse.ts'
import { getTokens } from './support/relying-party.ts'
import { sharedService } from './support/shared-service.ts'
import { answerOf } from './support/wire.ts'

/** Redirect addresses of an application of a site, and whether consent is remembered there. */
const rows: readonly (readonly [redirectUri: string, remembered: boolean])[] = [
  ['https://notes.example/callback', true],
  ['http://127.0.0.1/callback', false],
  ['http://127.0.0.1:5/callback', false],
  ['com.example.notes:/callback', false],
  // Each connection of ChatGPT has its own address, and all members share the client_id.
  ['https://chatgpt.com/connector/oauth/mine', false],
  ['https://chatgpt.com/connector_platform_oauth_redirect', true],
]

describe('consent to an application of a site [design 17] [RFC 8252 §8.6]', () => {
  const running = sharedService()

  before(async () => {
    await running()
      .service.stores.database.kysely.insertInto('oauth_application_redirect_uri')
      .values(
        rows
          .filter(([uri]) => !/notes\.example\/|127\.0\.0\.1/.test(uri))
          .map(([uri], index) => ({ client_id: notes.clientId, uri, position: 10 + index })),
      )
      .execute()
  })

  for (const [redirectUri, remembered] of rows) {
    it(`is ${remembered ? 'remembered' : 'asked for each time'} at ${redirectUri}`, async () => {
      const { url } = running()
      // Consent in the same browser, at the https address.
      const { person } = await getTokens(url)
      const request = authorizeUrl(url, { redirect_uri: redirectUri, prompt: 'none' })
      const answer = await answerOf(await person.open(request))
      const { href, searchParams } = locationOf(answer)
      expect(href.startsWith(redirectUri)).to.equal(true)
      expect(searchParams.has('code')).to.equal(remembered)
      expect(searchParams.get('error')).to.equal(remembered ? null : 'consent_required')
    })
  }
})
