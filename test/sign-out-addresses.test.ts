import { expect } from 'chai'
import * as oidc from 'openid-client'

import { judgeDocument } from '../src/oauth/clients/metadata-document.ts'
import { paths } from '../src/platform/http/paths.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { olivia, sam } from './support/gatehouse.ts'
import { makePagePerson } from './support/page-person.ts'
import { getTokens } from './support/relying-party.ts'
import { sharedService } from './support/shared-service.ts'
import { answerOf, encode } from './support/wire.ts'

const applications = '/admin/northlight/applications'

describe('post_logout_redirect_uri [design 27] [RP-Initiated Logout §3]', () => {
  const service = sharedService()

  /** A library's own sign-out, confirmed by the person; where it leads. */
  async function signOut(clientId: string, redirectUri: string, address: string) {
    const { url } = service()
    const scope = clientId.startsWith('app_') ? 'openid account:read' : 'openid courses:read'
    const person = clientId.startsWith('app_') ? sam : olivia
    const granted = await getTokens(url, { clientId, redirectUri, scope, person })
    const { configuration, tokens } = granted
    const start = oidc.buildEndSessionUrl(configuration, {
      id_token_hint: tokens.id_token ?? '',
      post_logout_redirect_uri: address,
      state: 'the-state',
    })
    const page = await granted.person.open(start)
    const text = await page.text()
    const [, xsrf] = /name="xsrf" value="([^"]+)"/.exec(text) ?? []
    if (xsrf === undefined) return { status: page.status, location: null }
    const done = await granted.person.open(new URL(`${paths.endSession}/confirm`, url), {
      method: 'POST',
      body: encode({ xsrf, logout: 'yes' }),
    })
    return { status: done.status, location: done.headers.get('location') }
  }

  // [RP-Initiated Logout §3.1]
  it('is entered by an operator, kept at an edit, and gone when it is taken out', async () => {
    const operator = makePagePerson(service().url, olivia)
    const back = 'https://planner.example/signed-out'
    const redirectUri = 'https://planner.example/callback'
    const entry = {
      ...{ name: 'Study Planner', redirect_uris: redirectUri, auth_method: 'none' },
      ...{
        post_logout_redirect_uris: `${back}\n\nhttps://planner.example/bye`,
        scope: 'account:read',
      },
    }
    const form = await operator.visit(`${applications}/new`)
    const { text } = await operator.send(form, applications, entry)
    expect(text).to.include('After sign-out').and.include(back)
    const [, clientId = ''] = /id="client-id">([^<]+)</.exec(text) ?? []
    expect(await signOut(clientId, redirectUri, back)).to.deep.include({
      location: `${back}?state=the-state`,
    })
    const edit = await operator.visit(`${applications}/${clientId}/edit`)
    expect(edit.text).to.include(back)
    const without = { ...entry, post_logout_redirect_uris: '' }
    await operator.send(edit, `${applications}/${clientId}/edit`, without)
    expect(await signOut(clientId, redirectUri, back)).to.deep.equal({
      status: 400,
      location: null,
    })
  })

  it('is checked as a redirect address is, and nothing is saved that is wrong', async () => {
    const operator = makePagePerson(service().url, olivia)
    for (const [typed, said] of [
      ['http://planner.example/bye', 'must begin with https://'],
      ['https://planner.example/bye#x', 'after #'],
      ['javascript:alert(1)', 'com.example.app'],
      [
        Array.from({ length: 21 }, (_, n) => `https://planner.example/${n}`).join('\n'),
        '20 addresses',
      ],
    ] as const) {
      const form = await operator.visit(`${applications}/new`)
      const { status, text } = await operator.send(form, applications, {
        ...{ name: 'Never made', redirect_uris: 'https://planner.example/cb', auth_method: 'none' },
        ...{ post_logout_redirect_uris: typed, scope: 'account:read' },
      })
      expect(status, typed).to.equal(422)
      expect(text).to.include('post-logout-uris-problem').and.include(said)
    }
    expect((await operator.visit(applications)).text).to.not.include('Never made')
  })

  // [RP-Initiated Logout §3.1]
  it('is registered by a program on a loopback address; one that lies elsewhere is left out', async () => {
    const { url } = service()
    const redirectUri = 'http://127.0.0.1:7/callback'
    const back = 'http://127.0.0.1:7/signed-out'
    const registered = await answerOf(
      await fetch(url + paths.registration, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          redirect_uris: [redirectUri],
          post_logout_redirect_uris: [back, 'https://elsewhere.example/'],
        }),
      }),
    )
    expect(registered.status).to.equal(201)
    expect(registered.body.post_logout_redirect_uris).to.deep.equal([back])
    const { client_id: clientId } = registered.body
    expect((await signOut(clientId, redirectUri, back)).location).to.equal(
      `${back}?state=the-state`,
    )
    const person = makeHeadlessPerson(sam)
    const elsewhere = {
      client_id: clientId,
      post_logout_redirect_uri: 'https://elsewhere.example/',
    }
    const refused = await person.open(new URL(`${paths.endSession}?${encode(elsewhere)}`, url))
    expect(refused.status).to.equal(400)
  })

  it('is read from a metadata document, where it lies on its host or is loopback', () => {
    const address = new URL('https://client.example/oauth/client.json')
    const text = JSON.stringify({
      client_id: address.href,
      client_name: 'A client',
      redirect_uris: ['https://client.example/callback'],
      post_logout_redirect_uris: [
        ...['https://client.example/bye', 'https://elsewhere.example/bye', 'http://127.0.0.1/bye'],
      ],
    })
    const judged = judgeDocument(address, text, ['127.0.0.1'])
    expect(judged.kind === 'accepted' && judged.document.postLogoutRedirectUris).to.deep.equal([
      ...['https://client.example/bye', 'http://127.0.0.1/bye'],
    ])
  })
})
