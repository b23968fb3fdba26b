import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'

import { type ClientView, kindSentence } from '../views/client-view.ts'
import { consentPage } from '../views/consent.ts'
import { errorPage } from '../views/error.ts'
import { html, trusted } from '../views/html.ts'
import { layout, type Page as View } from '../views/layout.ts'
import { memberApiPage } from '../views/member-api.ts'
import { signInPage } from '../views/sign-in.ts'
import { signedOutPage, signOutPage } from '../views/sign-out.ts'
import { siteChoicePage } from '../views/site-choice.ts'
import { stylesheet } from '../views/stylesheet.ts'
import { welcomePage } from '../views/welcome.ts'
import { openBrowser, overflows, violations } from './support/browser.ts'
import { png } from './support/files.ts'
import { requireProgram } from './support/skipped.ts'

const policy = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self' https: data:",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

const client: ClientView = {
  name: 'Course Companion',
  kind: 'vendor',
  host: 'app.companion.example',
}
const person = { name: 'Ada Lindqvist', email: 'ada@harbour.example' }
const canSee = ['your name, picture and your roles at the site', 'your e-mail address']
const canChange = ['which notifications are read and which you receive']
const engineForm = trusted(
  '<form id="op.logoutForm" method="post" action="/out"><input type="hidden" name="xsrf" value="x"/></form>',
)

const onePixel = `data:image/png;base64,${png.toString('base64')}`

const hrefOf = ({ file }: { readonly file: string }) => `/assets/${file}`

/** A page as a browser gets it; a page that is not there is none. */
function markupOf(page: View | undefined): string {
  if (!page) return ''
  const stylesheetHref = hrefOf(page.stylesheet)
  return layout(page, { serviceName: 'Gatehouse', stylesheetHref }).toString()
}

/** Every page in every shape that a person can meet, with `text` wherever a stranger has a say. */
function pagesWith(text: string): Record<string, View> {
  const stranger: ClientView = { ...client, name: text, host: text, siteName: text }
  const somebody = { name: text, email: text }
  const form = { action: `/answer?${text}`, deny: `/deny?${text}`, csrf: text }
  const site = { name: text, roles: [text, 'admin'] }
  return {
    'sign-in': signInPage({ ...form, client: stranger, login: text }),
    'sign-in-again': signInPage({ ...form, client: stranger, login: text, problem: text }),
    'sign-in-of-site': {
      ...signInPage({ ...form, client: stranger, words: { siteName: text, text } }),
      look: { name: text, logoHref: onePixel, colorsHref: undefined },
    },
    'site-choice': siteChoicePage({
      ...form,
      client: stranger,
      person: somebody,
      sites: [{ id: text, ...site }],
      selected: text,
      problem: text,
    }),
    ...Object.fromEntries(
      (['vendor', 'operator-created', 'self-declared', 'reviewed', 'loopback'] as const).map(
        (kind) => [
          `consent-${kind}`,
          consentPage({
            ...form,
            client: { ...stranger, kind },
            person: somebody,
            site,
            canSee: [text],
            canChange: [text],
            signOutHref: `/out?${text}`,
            words: { siteName: text, text },
          }),
        ],
      ),
    ),
    error: errorPage({ code: text, description: text, errorId: text, title: text }),
    'member-api': memberApiPage({
      endpoint: text,
      readScope: text,
      writeScope: text,
      links: [{ href: `/docs?${text}`, label: text, what: text }],
    }),
    'sign-out': signOutPage({ form: engineForm, client: stranger }),
    'signed-out': signedOutPage({ client: stranger, homeHref: `/?${text}` }),
    welcome: welcomePage({
      accountHref: '/account',
      connectHref: '/connect',
      baseUrl: text,
      links: [{ href: `/docs?${text}`, label: text, what: text }],
      demoPeople: [{ login: text, password: text, what: text }],
    }),
  }
}

const form = { action: '/answer', deny: '/deny', csrf: 'a-secret' }
const sites = [
  { id: 'sit_1', name: 'Harbour School', roles: ['owner', 'lecturer'] },
  { id: 'sit_2', name: 'Night College', roles: ['admin'] },
]
const consent = {
  ...form,
  person,
  site: { name: 'Harbour School', roles: ['student'] },
  canSee,
  canChange,
  signOutHref: '/out',
}
const pages: Record<string, View> = {
  'sign-in': signInPage({ ...form, client }),
  'sign-in-again': signInPage({
    ...form,
    client,
    login: 'ada@harbour.example',
    problem: 'This e-mail address and this password do not belong together.',
  }),
  'sign-in-of-site': {
    ...signInPage({
      ...form,
      client,
      words: { siteName: 'Harbour School', text: 'Welcome back.\nWe sail in May.' },
    }),
    look: { name: 'Harbour School', logoHref: onePixel, colorsHref: undefined },
  },
  'site-choice': siteChoicePage({ ...form, client, person, sites }),
  'site-choice-again': siteChoicePage({
    ...form,
    client,
    person,
    sites,
    selected: 'sit_2',
    problem: 'Choose one of your sites.',
  }),
  'consent-vendor': consentPage({ ...consent, client }),
  'consent-operator-created': consentPage({
    ...consent,
    client: { ...client, kind: 'operator-created', siteName: 'Harbour School' },
  }),
  'consent-self-declared': consentPage({
    ...consent,
    client: { ...client, kind: 'self-declared' },
  }),
  'consent-loopback': consentPage({
    ...consent,
    client: { name: 'Terminal Helper', kind: 'loopback', host: 'this computer (127.0.0.1)' },
  }),
  'consent-vendor-connection': consentPage({
    ...consent,
    client: { name: 'ChatGPT', kind: 'vendor-connection', host: 'chatgpt.com' },
  }),
  'consent-vendor-on-device': consentPage({
    ...consent,
    client: { name: 'Cursor', kind: 'vendor-on-device', host: 'an app on this device (cursor)' },
  }),
  error: errorPage({
    connectHref: '/connect',
    code: 'invalid_redirect_uri',
    description:
      'The application asked us to send you to an address that is not registered for it.',
    errorId: 'err_9f2c61d0a4',
    sentAddress: 'http://portal.example/callback/?…',
  }),
  'member-api': memberApiPage({
    endpoint: 'https://accounts.example.com/member/graphql',
    readScope: 'account:read',
    writeScope: 'account:write',
    links: [{ href: '/auth.md', label: 'auth.md', what: 'how to get an access token' }],
  }),
  'sign-out': signOutPage({ form: engineForm, client }),
  'sign-out-of-nobody': signOutPage({ form: engineForm, addressIgnored: true }),
  'signed-out': signedOutPage({ client, homeHref: '/' }),
  welcome: welcomePage({
    accountHref: '/account',
    connectHref: '/connect',
    baseUrl: 'https://accounts.example.com',
    links: [
      { href: '/auth.md', label: 'How to connect', what: 'the guide for people and programs' },
      { href: '/openapi.json', label: 'The endpoints', what: 'as an OpenAPI document' },
    ],
    demoPeople: [{ login: 'ada@harbour.example', password: 'demo-ada', what: 'Owner of a site' }],
  }),
}

describe('the html tag', () => {
  it('escapes text, also inside of attributes', () => {
    const hostile = `"><script>alert('1')</script>&\``
    expect(html`<p title="${hostile}">${hostile}</p>`.toString()).to.equal(
      '<p title="&#34;&#62;&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62;&#38;&#96;">' +
        '&#34;&#62;&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62;&#38;&#96;</p>',
    )
  })

  it('keeps markup that it made, alone and in lists', () => {
    const items = ['a', '<'].map((item) => html`<li>${item}</li>`)
    expect(html`<ul>${items}</ul>`.toString()).to.equal('<ul><li>a</li><li>&#60;</li></ul>')
  })

  it('renders nothing for what is absent, and zero as zero', () => {
    expect(html`[${undefined}${null}${false}${[]}${0}]`.toString()).to.equal('[0]')
  })

  it('does not take something for markup because it can be written as a string', () => {
    const pretender = { toString: () => '<script>' } as unknown as string
    expect(() => html`${pretender}`.toString()).to.throw()
  })
})

describe('pages', () => {
  const hostile = `<script>alert(1)</script>" onfocus="alert(2)" x='${'`'}</title></main>&quot;`

  for (const [name, page] of Object.entries(pagesWith(hostile))) {
    // [class XSS; threat 8]
    it(`${name} shows hostile values as text`, () => {
      const markup = markupOf(page)
      expect(markup).not.to.include('<script')
      expect(markup).not.to.include('" onfocus')
      expect(markup).not.to.include("x='")
      expect(markup).not.to.include('&quot;')
      expect(markup.match(/<\/title>/g)).to.have.length(1)
      expect(markup.match(/<\/main>/g)).to.have.length(1)
      expect(markup).to.include('&#60;script&#62;alert(1)')
    })
  }

  for (const [name, page] of Object.entries({ ...pagesWith('x'), ...pages })) {
    it(`${name} has no script, no inline style and no event attribute`, () => {
      const markup = markupOf(page)
      expect(markup).not.to.match(/<script|<style|javascript:/i)
      expect(markup).not.to.match(/<[^>]*\s(style|on[a-z]+)\s*=/i)
    })

    it(`${name} has one heading, one main, a language, a title and unique ids`, () => {
      const markup = markupOf(page)
      expect(markup).to.match(/^<!doctype html>\n<html lang="en">/)
      expect(markup.match(/<h1>/g)).to.have.length(1)
      expect(markup.match(/<main id="/g)).to.have.length(1)
      expect(markup).to.match(/<title>[^<]+ – Gatehouse<\/title>/)
      const ids = [...markup.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id)
      expect(ids).to.deep.equal([...new Set(ids)])
    })

    // The page of the Member API is for people who write programs.
    if (name === 'member-api') continue

    it(`${name} speaks no protocol to the person`, () => {
      const words = markupOf(page)
        .replace(/<code id="error-code">[^<]*<\/code>/, '')
        .replace(/<[^>]*>/g, ' ')
      expect(words).not.to.match(/\b(scopes?|clients?|grants?|tokens?|OAuth|redirect)\b/i)
    })
  }

  const marks: Record<string, readonly string[]> = {
    'sign-in': [
      '<main id="login-page">',
      '<h1>Sign in</h1>',
      '<input id="login" name="login"',
      '<input id="password" name="password" type="password"',
      '<button id="login-submit"',
      '<button id="login-cancel"',
    ],
    'site-choice': [
      '<main id="site-page">',
      '<input type="radio" name="site" value="sit_1"',
      '<button id="site-submit"',
      '<button id="site-cancel"',
    ],
    'consent-vendor': [
      '<main id="consent-page">',
      '<button id="consent-approve"',
      '<button id="consent-deny"',
    ],
    error: ['<main id="error-page">', '<code id="error-code">', '<p id="error-description">'],
    'sign-out': [
      '<main id="logout-page">',
      '<form id="op.logoutForm"',
      '<button id="logout-confirm" type="submit" form="op.logoutForm" name="logout" value="yes">',
      '<button id="logout-cancel" type="submit" form="op.logoutForm"',
    ],
    'signed-out': ['<main id="logout-success">', 'signed out'],
    welcome: ['<main id="welcome-page">'],
  }
  for (const [name, expected] of Object.entries(marks)) {
    it(`${name} carries the marks that the conformance suite looks for`, () => {
      for (const mark of expected) expect(markupOf(pages[name])).to.include(mark)
    })
  }

  it('puts the proof of origin into every form of ours', () => {
    for (const name of ['sign-in', 'site-choice', 'consent-vendor']) {
      const forms = markupOf(pages[name]).split('<form').slice(1)
      expect(forms).to.have.length(2)
      for (const markup of forms) expect(markup).to.include('name="csrf" value="a-secret"')
    }
  })

  it('keeps the typed login, never the password, and links the problem to the fields', () => {
    const markup = markupOf(pages['sign-in-again'])
    expect(markup).to.include('value="ada@harbour.example"')
    expect(markup).to.match(/id="login-problem" role="alert" tabindex="-1"/)
    expect(markup.match(/aria-describedby="login-problem"/g)).to.have.length(2)
    expect(markup).not.to.match(/<input id="password"[^>]*value=/)
  })

  it('chooses no site for the person, and keeps the choice of before', () => {
    expect(markupOf(pages['site-choice'])).not.to.include('checked')
    expect(markupOf(pages['site-choice-again'])).to.match(/value="sit_2" required checked/)
  })

  it('names on consent the application, where the person goes back to, the site and the person', () => {
    for (const kind of ['vendor', 'operator-created', 'self-declared'] as const) {
      const markup = markupOf(pages[`consent-${kind}`])
      const words = ['Course Companion', 'app.companion.example', 'Harbour School', person.email]
      for (const word of [...words, ...canSee, ...canChange]) expect(markup).to.include(word)
    }
    const kinds = new Set([
      ...['vendor', 'vendor-connection', 'vendor-on-device', 'operator-created'],
      ...['self-declared', 'reviewed', 'loopback'],
    ])
    const sentences = [...kinds].map((kind) => kindSentence({ ...client, kind } as ClientView))
    expect(new Set(sentences)).to.have.length(7)
  })

  // [MCP Authorization §Localhost Redirect URI Risks; RFC 7591 §5]
  it('warns of applications that nobody checked, and of no others (design 17)', () => {
    const warned = Object.keys(pages).filter((name) =>
      markupOf(pages[name]).includes('role="note"'),
    )
    expect(warned).to.deep.equal([
      'consent-self-declared',
      'consent-loopback',
      'consent-vendor-connection',
      'consent-vendor-on-device',
    ])
  })

  it('says what the person can do about an error, whatever its code', () => {
    const advice = (code: string) =>
      /<h2>What you can do<\/h2>\n<p>([^<]+)/.exec(
        markupOf(errorPage({ code, description: 'x' })),
      )?.[1]
    expect(advice('temporarily_unavailable')).to.match(/^Wait a minute/)
    expect(advice('constructor')).to.equal(advice('invalid_request'))
    expect(advice('invalid_request')).to.match(/^Go back to the application/)
  })

  it('leaves out a group of scopes that is empty', () => {
    const markup = markupOf(consentPage({ ...consent, client, canChange: [] }))
    expect(markup).to.include('id="can-see"')
    expect(markup).not.to.include('id="can-change"')
  })

  it('shows accounts only in a demo', () => {
    expect(
      markupOf(welcomePage({ baseUrl: 'x', accountHref: '/', connectHref: '/', links: [] })),
    ).not.to.include('demo')
    expect(markupOf(pages['welcome'])).to.include('demo-ada')
  })

  it('names the stylesheet by its content', () => {
    expect(stylesheet.file).to.match(/^style-[0-9a-f]{10}\.css$/)
    expect(stylesheet.content.byteLength).to.be.lessThan(6000)
    expect(stylesheet.content.toString()).not.to.match(/url\(|@import/)
  })
})

describe('pages in a browser', () => {
  let browser: Browser
  let served: Served

  before(async function () {
    requireProgram(this, 'chromium')
    browser = await openBrowser()
    served = await serve()
  })

  after(async () => {
    await browser?.close()
    await served?.[Symbol.asyncDispose]()
  })

  // Colors and widths have nothing to do with each other.
  const settings = [
    { colorScheme: 'light', width: 360 },
    { colorScheme: 'dark', width: 1280 },
  ] as const
  for (const { colorScheme, width } of settings) {
    it(`have no barrier, ${colorScheme} at ${width} px`, async () => {
      await using context = await browser.newContext({
        colorScheme,
        viewport: { width, height: 740 },
        reducedMotion: 'reduce',
      })
      const page = await context.newPage()
      const complaints: string[] = []
      page.on('console', (message) => complaints.push(message.text()))
      for (const name of Object.keys(served.pages)) {
        await page.goto(`${served.url}/${name}`)
        // What strangers wrote changes the width of a page, and nothing that axe looks at.
        const found = name in pages ? await violations(page) : []
        if (await overflows(page)) found.push('scrolls to the side')
        complaints.push(...found.map((violation) => `${name}: ${violation}`))
      }
      expect(complaints).to.deep.equal([])
    })
  }

  it('let every control be reached by Tab, and show where the focus is', async () => {
    await using context = await browser.newContext({ viewport: { width: 360, height: 740 } })
    const page = await context.newPage()
    for (const name of Object.keys(pages)) {
      await page.goto(`${served.url}/${name}`)
      const missed = await missedByTab(page)
      expect(missed, name).to.deep.equal([])
    }
  })

  it('send the answer, and the refusal without the answer', async () => {
    await using context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(`${served.url}/sign-in`)
    await page.fill('#login', 'ada@harbour.example')
    await page.fill('#password', 'secret')
    await page.click('#login-cancel')
    expect(await page.textContent('body')).to.equal('/deny csrf=a-secret')

    await page.goto(`${served.url}/site-choice`)
    await page.getByLabel('Night College').check()
    await page.click('#site-submit')
    expect(await page.textContent('body')).to.equal('/answer csrf=a-secret&site=sit_2')

    await page.goto(`${served.url}/sign-out`)
    await page.click('#logout-confirm')
    expect(await page.textContent('body')).to.equal('/out xsrf=x&logout=yes')

    await page.goto(`${served.url}/sign-out`)
    await page.click('#logout-cancel')
    expect(await page.textContent('body')).to.equal('/out xsrf=x')
  })
})

interface Served extends AsyncDisposable {
  readonly url: string
  readonly pages: Record<string, View>
}

/** The pages behind the headers that they really have; a POST is answered with what it carried. */
async function serve(): Promise<Served> {
  const long = pagesWith(`${'Extraordinarily'.repeat(12)} and \u202egnol\u202c`)
  const all: Record<string, View> = {
    ...pages,
    ...Object.fromEntries(Object.entries(long).map(([name, page]) => [`long-${name}`, page])),
  }
  const server = createServer(async (request, response) => {
    const path = request.url ?? '/'
    response.setHeader('content-security-policy', policy)
    if (path === hrefOf(stylesheet)) {
      response.setHeader('content-type', 'text/css')
      response.end(stylesheet.content)
      return
    }
    if (request.method === 'POST') {
      let body = ''
      for await (const chunk of request) body += chunk
      response.end(`${path} ${body}`)
      return
    }
    const page = all[path.slice(1)]
    response.writeHead(page ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' })
    response.end(page && markupOf(page))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pages: all,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Goes round the page by Tab (a group of radio buttons is one stop) and says what was not met. */
async function missedByTab(page: Page): Promise<string[]> {
  const describe = `(element) => element.name === 'site' ? 'site' : element.id || element.textContent`
  const controls: string[] = await page.evaluate(
    `[...document.querySelectorAll('a[href], button, input:not([type=hidden])')].map(${describe})`,
  )
  const met = new Set<string>()
  // One press more than there are controls, because the page itself is a stop on the way round.
  for (let press = 0; press <= controls.length + 1; press += 1) {
    if (await page.evaluate('document.activeElement !== document.body')) {
      met.add(await page.evaluate(`(${describe})(document.activeElement)`))
      const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineWidth')
      expect(outline, 'the focus is visible').to.equal('3px')
    }
    await page.keyboard.press('Tab')
  }
  return [...new Set(controls)].filter((control) => !met.has(control))
}
