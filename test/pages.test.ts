import { expect } from 'chai'

import { type ClientView, kindSentence } from '../views/client-view.ts'
import { consentPage } from '../views/consent.ts'
import { errorPage } from '../views/error.ts'
import { html } from '../views/html.ts'
import { stylesheet } from '../views/stylesheet.ts'
import { welcomePage } from '../views/welcome.ts'
import {
  canChange,
  canSee,
  client,
  consent,
  markupOf,
  pages,
  pagesWith,
  person,
} from './support/sample-pages.ts'

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
