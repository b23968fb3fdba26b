import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'

import { paths } from '../../src/platform/http/paths.ts'
import { openBrowser, overflows, violations } from '../support/browser.ts'
import { marco, olivia, type RunningService, sam, startService } from '../support/gatehouse.ts'
import { memberToken, readOnly } from '../support/member-api.ts'
import { requireProgram } from '../support/skipped.ts'

describe('queries in a browser', function () {
  this.timeout(90_000)
  let browser: Browser
  let service: RunningService
  before(async function () {
    requireProgram(this, 'chromium')
    browser = await openBrowser()
    service = await startService()
  })
  after(async () => {
    await browser?.close()
    await service?.[Symbol.asyncDispose]()
  })

  /** A browser of somebody's own, with everything that it complains about. */
  async function open(path: string, { login, password }: typeof sam, scripts = true) {
    const context = await browser.newContext({
      javaScriptEnabled: scripts,
      viewport: { width: 1200, height: 900 },
    })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    await page.goto(service.url + path)
    await page.getByLabel('E-mail address').fill(login)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('#query-page').waitFor()
    return { page, complaints }
  }

  /** Types a document in the place of what stands there, runs it, and waits for what is expected. */
  async function run(page: Page, document: string, expected: string): Promise<void> {
    await page.locator('.graphiql-query-editor .CodeMirror').click()
    await page.keyboard.press('Control+A')
    // Pasted, because the editor closes brackets that are typed.
    await page.keyboard.insertText(document)
    await page.getByRole('button', { name: /Execute query/ }).click()
    await page.locator('.result-window', { hasText: expected }).waitFor()
  }

  it('a member runs a query as themselves in GraphiQL, from no other host, with nothing refused by the policy', async () => {
    const { page, complaints } = await open('/account/queries', sam)
    const hosts = new Set<string>()
    page.on('request', (request) => hosts.add(new URL(request.url()).host))
    await page.reload()
    await run(page, '{ viewer { name } }', '"Sam Student"')
    expect(await page.locator('#plain').isVisible()).to.equal(false)
    await page.getByRole('button', { name: /Show Documentation Explorer/ }).click()
    await page.locator('.graphiql-doc-explorer', { hasText: 'viewer' }).waitFor()
    await page.getByRole('button', { name: /Open settings dialog/ }).click()
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    expect([...hosts]).to.deep.equal([new URL(service.url).host])
    expect(complaints).to.deep.equal([])
  })

  it('a member changes something of their own, and the page says when they are signed out', async () => {
    const { page, complaints } = await open('/account/queries', sam)
    const change = 'mutation { markNotificationRead(id: "not_sam_14") { notification { id } } }'
    await run(page, change, '"not_sam_14"')
    await page.context().clearCookies()
    await run(page, '{ viewer { name } }', 'you are signed out')
    expect(complaints).to.have.length(1)
    expect(complaints[0]).to.include('401')
  })

  it('somebody with two sites chooses one', async () => {
    const { page } = await open('/account/queries?site=northlight', marco)
    await run(page, '{ viewer { enrolledCourses { totalCount } } }', '"totalCount": ')
    await page.getByRole('link', { name: 'Open Kitchen School' }).click()
    await page.locator('.graphiql-query-editor').waitFor()
    expect(page.url()).to.match(/site=open-kitchen$/)
  })

  it('an operator has the same for the Admin API, which changes nothing', async () => {
    const { page, complaints } = await open('/admin/northlight/queries', olivia)
    await run(page, '{ site { name } }', '"Northlight Academy"')
    const change = 'mutation { updateSite(input: { name: "Changed" }) { id } }'
    await run(page, change, 'This page runs queries only')
    expect(complaints).to.deep.equal([])
  })

  it('without scripts there are a sentence and a form, which everybody can use', async () => {
    const { page } = await open('/account/queries', sam, false)
    await page.getByText('This is the plain form.').waitFor()
    await page.getByLabel('Query').fill('{ viewer { name } }')
    await page.getByRole('button', { name: 'Run the query' }).click()
    await page.locator('#answer', { hasText: 'Sam Student' }).waitFor()
  })

  it('in a small window there is the form too', async () => {
    const { page, complaints } = await open('/account/queries', sam)
    await page.setViewportSize({ width: 360, height: 800 })
    await page.reload()
    await page.getByText('This is the plain form.').waitFor()
    expect(await overflows(page)).to.equal(false)
    expect(complaints).to.deep.equal([])
    expect(await violations(page)).to.deep.equal([])
  })

  it('a page of another origin asks both APIs with a token, as Apollo and urql do, and has no cookie to send', async () => {
    await using elsewhere = await listenElsewhere()
    const token = await memberToken(service.url, readOnly)
    const page = await (await browser.newContext()).newPage()
    await page.goto(elsewhere.url)
    for (const path of [paths.graphql, paths.adminGraphql]) {
      const answers = await page.evaluate(askAsPage, { address: service.url + path, token })
      expect(answers, path).to.deep.equal([200, 200])
    }
  })
})

/** Runs in a page: a POST as Apollo's client sends it, and a GET as urql does. */
async function askAsPage({ address, token }: { address: string; token: string }) {
  const authorization = `Bearer ${token}`
  const query = '{ __schema { queryType { name fields { name } } } }'
  const byPost = await fetch(address, {
    method: 'POST',
    credentials: 'omit',
    headers: {
      authorization,
      accept: 'application/graphql-response+json,application/json;q=0.9',
      'content-type': 'application/json',
      'apollographql-client-name': 'a page',
      'apollographql-client-version': '1',
      'apollo-require-preflight': 'true',
      'x-apollo-operation-name': 'A',
    },
    body: JSON.stringify({ query: query.replace('{ __schema', '{ viewer: __schema') }),
  })
  const byGet = await fetch(`${address}?${new URLSearchParams({ query })}`, {
    headers: { authorization, 'graphql-preflight': '1' },
  })
  return [byPost.status, byGet.status]
}

async function listenElsewhere() {
  const server = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Elsewhere</h1>'),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
