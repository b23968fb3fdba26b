import { pages, paths } from '../src/platform/http/paths.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { asClaude, authorizeUrl } from './support/client.ts'
import { amir, startService } from './support/gatehouse.ts'
import { confirmSignOut, hiddenField, makePagePerson } from './support/page-person.ts'
import { encode } from './support/wire.ts'

const name = 'Harbour & Hill'
const seen = new Map<string, string>()

const expected = [
  ...['account-page', 'admin-page', 'admin-sites-page', 'apps-page', 'consent-page', 'error-page'],
  ...['login-page', 'logout-page', 'logout-success', 'member-api-page', 'not-signed-in-page'],
  ...['site-page', 'welcome-page'],
]

describe('the name of the service (config/service.json, name)', () => {
  const realFetch = globalThis.fetch
  before(async () => {
    globalThis.fetch = async (...asked) => {
      const response = await realFetch(...asked)
      const text = await response.clone().text()
      const [, id] = /<main id="([^"]+)"/.exec(text) ?? []
      if (id !== undefined) seen.set(id, text)
      return response
    }
    await using other = await startService()
    await using service = await startService({ policy: (policy) => ({ ...policy, name }) })
    await visit(other.url)
    await visit(service.url)
  })
  after(() => {
    globalThis.fetch = realFetch
  })

  for (const id of expected) {
    it(`is the only one in the title and header of ${id}`, () => {
      const markup = seen.get(id) ?? ''
      expect(markup).to.match(/<title>[^<]+ – Harbour &#38; Hill<\/title>/)
      // The header of the administration names the site first.
      const header = /<span>Harbour &#38; Hill<\/span>|<small>on Harbour &#38; Hill<\/small>/
      expect(markup).to.match(header)
      expect(markup).not.to.include('Gatehouse')
    })
  }
})

async function visit(url: string): Promise<void> {
  const asBrowser = { headers: { accept: 'text/html' } }
  await fetch(url + pages.welcome, asBrowser)
  await fetch(url + paths.graphql, asBrowser)
  await fetch(authorizeUrl(url, { client_id: 'nobody' }), asBrowser)

  const person = makeHeadlessPerson(amir)
  const operator = { ...asClaude, scope: 'openid courses:read' }
  await person.authorize(authorizeUrl(url, operator), asClaude.redirect_uri)
  const answer = await confirmSignOut(person, new URL(paths.endSession, url))
  await person.open(new URL(answer.headers.get('location') ?? '', url))

  const member = makePagePerson(url, amir)
  for (const path of [pages.account, pages.apps, pages.admin, '/admin/northlight'])
    await member.visit(path)

  await cancel(url)
}

async function cancel(url: string): Promise<void> {
  const person = makeHeadlessPerson(amir)
  const follow = async (address: URL, init?: RequestInit): Promise<URL> => {
    const location = (await person.open(address, init)).headers.get('location')
    return location === null ? address : await follow(new URL(location, url))
  }
  const login = await follow(new URL(pages.account, url))
  const body = encode({ csrf: hiddenField(seen.get('login-page') ?? '') })
  await follow(new URL(`${login.pathname}/cancel`, url), { method: 'POST', body })
}
