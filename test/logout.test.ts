import { expect } from 'chai'

import { paths } from '../src/platform/http/paths.ts'
import { type HeadlessPerson, makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { refresh, userinfo } from './support/client.ts'
import { sam } from './support/gatehouse.ts'
import { getTokens } from './support/relying-party.ts'
import { sharedService } from './support/shared-service.ts'
import { encode, type Fields } from './support/wire.ts'

const back = 'https://notes.example/signed-out'

describe('/oauth/logout [design 27]', () => {
  const service = sharedService()

  const address = (fields: Fields = {}) => {
    const url = new URL(paths.endSession, service().url)
    url.search = encode(fields).toString()
    return url
  }

  // [RP-Initiated Logout §2; RP-Initiated Logout §6]
  it('asks first, because any page of the web can send somebody here', async () => {
    const { person, tokens, start } = await getTokens(service().url)
    const answer = await person.open(address({ id_token_hint: tokens.id_token }))
    expect(answer.status).to.equal(200)
    expect(await answer.text()).to.include('id="logout-page"')
    expect(await stillSignedIn(person, start)).to.equal(true)
  })

  // [RP-Initiated Logout §2]
  it('ends the session and says so when there is nowhere to go back to', async () => {
    const { person, start } = await getTokens(service().url)
    const done = await confirm(person, address())
    const page = await person.open(new URL(done.headers.get('location') ?? '', service().url))
    expect(await page.text()).to.include('id="logout-success"')
    expect(await stillSignedIn(person, start)).to.equal(false)
  })

  // [RP-Initiated Logout §3]
  it('goes back to the registered address with the state and nothing else', async () => {
    const { person, tokens } = await getTokens(service().url)
    const done = await confirm(
      person,
      address({
        id_token_hint: tokens.id_token,
        post_logout_redirect_uri: back,
        state: 'the-state',
      }),
    )
    expect(done.headers.get('location')).to.equal(`${back}?state=the-state`)
  })

  // [RP-Initiated Logout §3]
  it('knows the application by its client_id alone', async () => {
    const { person } = await getTokens(service().url)
    const done = await confirm(
      person,
      address({ client_id: 'northlight-notes', post_logout_redirect_uri: back }),
    )
    expect(done.headers.get('location')).to.equal(back)
  })

  it('says that an address is ignored of which nobody says whose it is', async () => {
    const { person, tokens } = await getTokens(service().url)
    const asked = async (fields: Fields) => await (await person.open(address(fields))).text()
    expect(await asked({ post_logout_redirect_uri: back }))
      .to.include('id="address-ignored"')
      .and.not.include(back)
    const named = { id_token_hint: tokens.id_token, post_logout_redirect_uri: back }
    for (const fields of [{}, named]) {
      expect(await asked(fields))
        .to.include('id="logout-page"')
        .and.not.include('address-ignored')
    }
  })

  it('keeps the session when the person stays', async () => {
    const { person, start } = await getTokens(service().url)
    await confirm(person, address(), {})
    expect(await stillSignedIn(person, start)).to.equal(true)
  })

  // [RP-Initiated Logout §6]
  it('signs nobody out for a form without its token', async () => {
    const { person, start } = await getTokens(service().url)
    await person.open(address())
    const answer = await person.open(new URL(`${paths.endSession}/confirm`, service().url), {
      method: 'POST',
      body: new URLSearchParams({ logout: 'yes', xsrf: 'guessed' }),
    })
    expect(answer.status).to.equal(400)
    expect(await answer.text()).to.include('id="error-page"')
    expect(await stillSignedIn(person, start)).to.equal(true)
  })

  it('leaves the applications that the person connected their tokens', async () => {
    const { url } = service()
    const { person, tokens } = await getTokens(url)
    await confirm(person, address())
    expect((await userinfo(url, tokens.access_token)).status).to.equal(200)
    expect((await refresh(url, tokens.refresh_token ?? '')).status).to.equal(200)
  })

  // [RP-Initiated Logout §2]
  it('takes the request as a form too', async () => {
    const { person } = await getTokens(service().url)
    const answer = await person.open(address(), {
      method: 'POST',
      body: encode({ client_id: 'northlight-notes', post_logout_redirect_uri: back }),
    })
    expect(answer.status).to.equal(303)
    const next = new URL(answer.headers.get('location') ?? '', service().url)
    const done = await confirm(person, next)
    expect(done.headers.get('location')).to.equal(back)
  })

  for (const [title, fields] of [
    [
      'an address that is not registered',
      { client_id: 'northlight-notes', post_logout_redirect_uri: `${back}/x` },
    ],
    [
      'an address with a query added',
      { client_id: 'northlight-notes', post_logout_redirect_uri: `${back}?x=1` },
    ],
    [
      'an address of another client',
      { client_id: 'northlight-portal', post_logout_redirect_uri: back },
    ],
    ['an unknown client', { client_id: 'nobody' }],
    ['a hint that nobody signed', { id_token_hint: 'e30.e30.' }],
  ] as const) {
    // [RP-Initiated Logout §3; RP-Initiated Logout §4]
    it(`shows an error page and goes nowhere for ${title}`, async () => {
      const { person, start } = await getTokens(service().url)
      const answer = await person.open(address(fields))
      expect(answer.status).to.equal(400)
      expect(answer.headers.get('location')).to.equal(null)
      expect(await answer.text()).to.include('id="error-page"')
      expect(await stillSignedIn(person, start)).to.equal(true)
    })
  }

  it('takes a form and nothing else by POST', async () => {
    const answer = await fetch(address(), {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    })
    expect(answer.status).to.equal(415)
  })

  it('asks nothing of somebody who is not signed in', async () => {
    const person = makeHeadlessPerson(sam)
    const done = await confirm(
      person,
      address({ client_id: 'northlight-notes', post_logout_redirect_uri: back }),
    )
    expect(done.headers.get('location')).to.equal(back)
  })

  it('admits the address that it goes back to, and no other, in the policy of its page', async () => {
    const { person, tokens } = await getTokens(service().url)
    const policyOf = async (fields: Fields) =>
      (await person.open(address(fields))).headers.get('content-security-policy')
    expect(
      await policyOf({ id_token_hint: tokens.id_token, post_logout_redirect_uri: back }),
    ).to.match(/form-action 'self' https:\/\/notes\.example;/)
    for (const fields of [
      {},
      { post_logout_redirect_uri: 'https://elsewhere.example/' },
      { client_id: 'northlight-notes', post_logout_redirect_uri: 'https://elsewhere.example/' },
    ]) {
      expect(await policyOf(fields)).to.match(/form-action 'self';/)
    }
  })
})

/** Opens the sign-out page and presses its first button. */
async function confirm(
  person: HeadlessPerson,
  url: URL,
  pressed: Fields = { logout: 'yes' },
): Promise<Response> {
  const page = await (await person.open(url)).text()
  const action = /action="([^"]+)"/.exec(page)?.[1] ?? ''
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const body = encode({ xsrf, ...pressed })
  const answer = await person.open(new URL(action, url), { method: 'POST', body })
  expect(answer.status).to.equal(303)
  return answer
}

/** With a session and a remembered consent the answer is a code, and no page. */
async function stillSignedIn(person: HeadlessPerson, start: URL): Promise<boolean> {
  const { headers } = await person.open(start)
  return headers.get('location')?.includes('code=') ?? false
}
