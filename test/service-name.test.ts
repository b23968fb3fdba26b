import { expect } from 'chai'

import { pages, paths } from '../src/platform/http/paths.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { authorizeUrl } from './support/client.ts'
import { amir, startService } from './support/gatehouse.ts'
import { makePagePerson } from './support/page-person.ts'
import { encode } from './support/wire.ts'

const name = 'Harbour & Hill'
const claude = { redirect_uri: 'https://claude.ai/api/mcp/auth_callback' }
const seen = new Map<string, string>()

/** Every kind of page that a person meets, by the id of its `main`. */
const expected = [
  'account-page',
  'admin-page',
  'admin-sites-page',
  'apps-page',
  'consent-page',
  'error-page',
  'login-page',
  'logout-page',
  'logout-success',
  'member-api-page',
  'not-signed-in-page',
  'site-page',
  'welcome-page',
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
    // Two services of one process, each with a name of its own.
    await using other = await startService()
    await using service = await startService({ policy: (policy) => ({ ...policy, name }) })
    await visit(other.url)
    await visit(service.url)
  })
  after(() => {
    globalThis.fetch = realFetch
  })

  for (const id of expected) {
    it(`stands in the title and the header of ${id}, and no other name`, () => {
      const markup = seen.get(id) ?? ''
      expect(markup).to.match(/<title>[^<]+ – Harbour &#38; Hill<\/title>/)
      expect(markup).to.include('<span>Harbour &#38; Hill</span>')
      expect(markup).not.to.include('Gatehouse')
    })
  }
})

/** Goes through every kind of page once. */
async function visit(url: string): Promise<void> {
  const asBrowser = { headers: { accept: 'text/html' } }
  await fetch(url + pages.welcome, asBrowser)
  await fetch(url + paths.graphql, asBrowser)
  await fetch(authorizeUrl(url, { client_id: 'nobody' }), asBrowser)

  const person = makeHeadlessPerson(amir)
  const operator = { client_id: 'integration-claude', ...claude, scope: 'openid courses:read' }
  await person.authorize(authorizeUrl(url, operator), claude.redirect_uri)
  const question = await (await person.open(new URL(paths.endSession, url))).text()
  const fields = { xsrf: /name="xsrf" value="([^"]+)"/.exec(question)?.[1] ?? '', logout: 'yes' }
  const action = new URL(/action="([^"]+)"/.exec(question)?.[1] ?? '', url)
  const answer = await person.open(action, { method: 'POST', body: encode(fields) })
  await person.open(new URL(answer.headers.get('location') ?? '', url))

  const member = makePagePerson(url, amir)
  await member.visit(pages.account)
  await member.visit(pages.apps)
  await member.visit(pages.admin)
  await member.visit('/admin/northlight')

  await cancel(url)
}

/** Goes back from the sign-in of our own pages. */
async function cancel(url: string): Promise<void> {
  const person = makeHeadlessPerson(amir)
  const follow = async (address: URL, init?: RequestInit): Promise<URL> => {
    const location = (await person.open(address, init)).headers.get('location')
    return location === null ? address : await follow(new URL(location, url))
  }
  const login = await follow(new URL(pages.account, url))
  const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(seen.get('login-page') ?? '') ?? []
  const refusal = new URL(`${login.pathname}/cancel`, url)
  await follow(refusal, { method: 'POST', body: encode({ csrf }) })
}
