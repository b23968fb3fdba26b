import { contrastOf } from '../src/directory/sites/site-look.ts'
import { kindSentence } from '../views/client-view.ts'
import { consentPage } from '../views/consent.ts'
import { type ErrorPage, errorPage } from '../views/error.ts'
import { html } from '../views/html.ts'
import { icon, iconNames } from '../views/icon.ts'
import { contrastPairs, tokenColor } from '../views/style-guide.ts'
import { stylesheet, tokens } from '../views/stylesheet.ts'
import { welcomePage } from '../views/welcome.ts'
import { matchesIn } from './support/page-person.ts'
import {
  canChange,
  canSee,
  client,
  consent,
  english,
  kinds,
  markupOf,
  pages,
  pagesWith,
  person,
  withoutScripts,
} from './support/sample-pages.ts'

describe('the html tag', () => {
  it('escapes text and attributes', () => {
    const hostile = `"><script>alert('1')</script>&\``
    expect(html`<p title="${hostile}">${hostile}</p>`.for(english)).to.equal(
      '<p title="&#34;&#62;&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62;&#38;&#96;">' +
        '&#34;&#62;&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62;&#38;&#96;</p>',
    )
  })

  it('keeps its own markup, alone and in lists', () => {
    const items = ['a', '<'].map((item) => html`<li>${item}</li>`)
    expect(html`<ul>${items}</ul>`.for(english)).to.equal('<ul><li>a</li><li>&#60;</li></ul>')
  })

  it('renders nothing for absent values, and zero as zero', () => {
    expect(html`[${undefined}${null}${false}${[]}${0}]`.for(english)).to.equal('[0]')
  })

  it('does not accept an object as markup because of its toString', () => {
    const pretender = { toString: () => '<script>' } as unknown as string
    expect(() => html`${pretender}`.for(english)).to.throw()
  })
})

describe('the design system', () => {
  for (const scheme of ['light', 'dark'] as const) {
    for (const [color, ground, min] of contrastPairs) {
      it(`has a contrast of ${min}:1 between ${color} and ${ground}, ${scheme}`, () => {
        const [one = '', other = ''] = [color, ground].map((name) => tokenColor(scheme, name))
        expect(contrastOf(one, other)).to.be.least(min)
      })
    }
  }

  it('has the icons of its sprite, each once', () => {
    const drawn = iconNames.map((name) => icon(name)?.for(english))
    for (const each of drawn) expect(each).to.match(/^<svg.*<(path|circle|rect)/)
    expect(new Set(drawn)).to.have.length(iconNames.length)
  })

  it('uses only sizes of its scale for texts and spaces', () => {
    const rule = /^ +(?:font-size|padding|margin|gap)[\w-]*: (.+);$/gm
    const sizes = String(stylesheet.content).matchAll(rule)
    const rems = [...sizes].flatMap(([, value = '']) => value.match(/[\d.]+rem/g) ?? [])
    expect(rems.filter((rem) => !Object.values(tokens.light).includes(rem))).to.deep.equal([])
  })
})

describe('pages', () => {
  const hostile = `<script>alert(1)</script>" onfocus="alert(2)" x='${'`'}</title></main>&quot;`

  for (const [name, page] of Object.entries(pagesWith(hostile))) {
    // [class XSS; threat 8]
    it(`${name} shows hostile values as text`, () => {
      const markup = withoutScripts(page)
      for (const raw of ['<script', '" onfocus', "x='", '&quot;'])
        expect(markup).not.to.include(raw)
      expect(markup.match(/<\/title>/g)).to.have.length(1)
      expect(markup.match(/<\/main>/g)).to.have.length(1)
      expect(markup).to.include('&#60;script&#62;alert(1)')
    })
  }

  for (const [name, page] of Object.entries({ ...pagesWith('x'), ...pages })) {
    it(`${name} is valid and has no script, inline style, event attribute or unstyled class`, () => {
      const markup = withoutScripts(page)
      expect(markup).not.to.match(/<script|<style|javascript:/i)
      expect(markup).not.to.match(/<[^>]*\s(style|on[a-z]+)\s*=/i)
      expect(markup).to.match(/^<!doctype html>\n<html lang="en" dir="ltr">/)
      expect(markup.match(/<h1>/g)).to.have.length(1)
      expect(markup.match(/<main id="/g)).to.have.length(1)
      expect(markup).to.match(/<title>[^<]+ – Harbour &#38; Hill<\/title>/)
      // The header of the administration names the site first.
      const header = /<span>Harbour &#38; Hill<\/span>|<small>on Harbour &#38; Hill<\/small>/
      expect(markup).to.match(header).and.not.include('Gatehouse')
      const ids = matchesIn(markup, /\sid="([^"]+)"/g)
      expect(ids).to.deep.equal([...new Set(ids)])
      const css = String(stylesheet.content)
      const classes = matchesIn(markup, /\sclass="([^"]+)"/g).flatMap((all) => all.split(' '))
      expect(classes.filter((each) => !css.includes(`.${each}`))).to.deep.equal([])
    })

    it(`${name} has one filled button at most, and needs 40 kB and two requests besides pictures`, () => {
      const markup = markupOf(page)
      const buttons = markup.match(/<button[^>]*|<a [^>]*class="button[^>]*/g) ?? []
      const other = /class="[^"]*\b(second|quiet|danger|menu)\b/
      expect(buttons.filter((each) => !other.test(each)).length).to.be.most(1)
      expect(Buffer.byteLength(markup) + stylesheet.content.length).to.be.below(40_000)
      const loaded = markup.match(/<(link rel="stylesheet"|script src|iframe|object|embed)/g)
      expect(loaded).to.have.length(1)
    })

    // The page of the Member API is for developers.
    if (name === 'member-api') continue

    it(`${name} uses no terms of the protocol`, () => {
      const words = withoutScripts(page)
        .replace(/<details><summary>Details for developers.*<\/details>/s, '')
        .replace(/<[^>]*>/g, ' ')
      expect(words).not.to.match(/\b(scopes?|clients?|grants?|tokens?|OAuth|redirect)\b/i)
    })
  }

  it('put the CSRF token into each form', () => {
    for (const name of ['sign-in', 'site-choice', 'consent-vendor']) {
      const forms = markupOf(pages[name]).split('<form').slice(1)
      expect(forms).to.have.length(2)
      for (const markup of forms) expect(markup).to.include('name="csrf" value="a-secret"')
    }
  })

  it('hide the typed password, and have a button to cancel', () => {
    for (const [name, mark] of [
      ['sign-in', '<input id="password" name="password" type="password"'],
      ['sign-in', '<button id="login-cancel"'],
      ['site-choice', '<button id="site-cancel"'],
      ['consent-vendor', '<button id="consent-deny"'],
      ['sign-out', '<button id="logout-cancel" type="submit" form="op.logoutForm"'],
    ] as const)
      expect(markupOf(pages[name])).to.include(mark)
  })

  it('keep the typed login, never the password, and link the problem to the fields', () => {
    const markup = markupOf(pages['sign-in-again'])
    expect(markup).to.include('value="ada@harbour.example"')
    expect(markup).to.match(/id="login-problem" role="alert" tabindex="-1"/)
    expect(markup.match(/aria-describedby="login-problem"/g)).to.have.length(2)
    expect(markup).not.to.match(/<input id="password"[^>]*value=/)
  })

  it('do not preselect a site', () => {
    for (const name of ['site-choice', 'site-choice-again'])
      expect(markupOf(pages[name])).not.to.include('checked')
  })

  it('name the application, its destination, the site and the person on consent', () => {
    for (const kind of ['vendor', 'operator-created', 'self-declared'] as const) {
      const markup = markupOf(pages[`consent-${kind}`])
      const words = ['Course Companion', 'app.companion.example', 'Harbour School', person.email]
      for (const word of [...words, ...[...canSee, ...canChange].map(({ text }) => text)])
        expect(markup).to.include(word)
    }
    const sentences = kinds.map((kind) => kindSentence({ ...client, kind }).for(english))
    expect(new Set(sentences)).to.have.length(8)
  })

  // [MCP Authorization §Localhost Redirect URI Risks; RFC 7591 §5]
  it('warn about unreviewed applications only (design 17)', () => {
    const names = Object.keys(pages)
    expect(names.filter((name) => markupOf(pages[name]).includes('role="note"'))).to.deep.equal([
      ...['consent-self-declared', 'consent-loopback'],
      ...['consent-vendor-connection', 'consent-vendor-on-device', 'consent-acts-for-owner'],
    ])
  })

  it('say what the person can do about any error, and have a button for it', () => {
    const hrefs = { accountHref: '/account', switchHref: '/switch', retryHref: '/here' }
    const shown = (code: string, more: Partial<ErrorPage> = {}) => {
      const markup = markupOf(errorPage({ code, description: 'the reason', ...hrefs, ...more }))
      const advised =
        /<h2>What you can do<\/h2>\n<p>([^<]+)<\/p>\n<div class="actions"><a id="([^"]+)/
      const [, advice, button] = advised.exec(markup) ?? []
      return [/id="error-message">([^<]+)/.exec(markup)?.[1], advice, button]
    }
    const app = { name: 'Notes', href: 'https://notes.example/' }
    const usual = shown('invalid_request')
    expect(usual[0]).to.equal('The app sent a request that does not work.')
    expect(shown('constructor')).to.deep.equal(['The reason.', ...usual.slice(1)])
    expect(shown('temporarily_unavailable')[1]).to.match(/^Wait a minute/)
    const buttons: readonly [button: string, code: string, more?: Partial<ErrorPage>][] = [
      ['account', 'not_found'],
      ['switch-account', 'forbidden', { isOwn: true }],
      ['retry', 'server_error', { app }],
      ['account', 'server_error', { retryHref: undefined }],
      ['back-to-app', 'invalid_scope', { app, connectHref: '/connect' }],
      ['sign-out-here', 'invalid_request', { app, signOutHref: '/out' }],
    ]
    for (const [button, code, more] of buttons) expect(shown(code, more)[2], code).to.equal(button)
    for (const code of ['invalid_request', 'server_error', 'temporarily_unavailable', 'forbidden'])
      expect(shown(code, { isOwn: true }).join(' '), code).not.to.match(/\bapp\b/)
  })

  it('show at most five lines of a consent, new ones first, and fold the rest', () => {
    const ends = (kind: string, count: number) =>
      Array.from({ length: count }, (_, at) => ({ name: `${kind} ${at}`, text: `${kind} ${at}` }))
    for (const [see, change, shown] of [
      [9, 0, '5+0'],
      [4, 1, '4+1'],
      [9, 9, '3+2'],
      [1, 9, '1+4'],
    ] as const) {
      const added = new Set([`see ${see - 1}`])
      const groups = { canSee: ends('see', see), canChange: ends('change', change), added }
      const markup = markupOf(consentPage({ ...consent, client, ...groups }))
      const open = markup.replaceAll(/<details>.*?<\/details>/gs, '')
      const count = (kind: string, text: string) =>
        text.match(new RegExp(`<li>${kind}`, 'g'))?.length ?? 0
      expect(`${count('see', open)}+${count('change', open)}`).to.equal(shown)
      expect(count('see', markup) + count('change', markup)).to.equal(see + change)
      const said = `see ${see - 1} <strong class="tag good">New</strong>`
      expect(/<li>.*/.exec(open)?.[0]).to.include(said)
    }
    expect(markupOf(pages['consent-vendor'])).not.to.include('id="asks-more"')
  })

  it('leave out an empty group of scopes', () => {
    const markup = markupOf(consentPage({ ...consent, client, canChange: [] }))
    expect(markup).to.include('id="can-see"').and.not.include('id="can-change"')
  })

  it('show accounts only in a demo', () => {
    const links = { baseUrl: 'x', accountHref: '/', connectHref: '/', links: [] }
    expect(markupOf(welcomePage(links))).not.to.include('demo')
    expect(markupOf(pages['welcome'])).to.include('demo-ada')
  })

  it('have a stylesheet named by its content', () => {
    expect(stylesheet.file).to.match(/^style-[0-9a-f]{10}\.css$/)
    expect(stylesheet.content.byteLength).to.be.lessThan(20_000)
    expect(String(stylesheet.content)).not.to.match(/url\(|@import/)
  })
})
