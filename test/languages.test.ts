import { globSync, readdirSync, readFileSync } from 'node:fs'

import { buildSchema } from 'graphql'
import { IntlMessageFormat } from 'intl-messageformat'

import { schemaText } from '../src/api/admin-api/schema-text.ts'
import { addressOf, pages } from '../src/platform/http/paths.ts'
import english from '../views/languages/en.json' with { type: 'json' }
import { layout } from '../views/layout.ts'
import { stylesheet } from '../views/stylesheet.ts'
import { catalogues, languages, text } from '../views/text.ts'
import { authorizeUrl, openAuthorization } from './support/client.ts'
import { change } from './support/database.ts'
import { olivia, sam } from './support/gatehouse.ts'
import { makePagePerson, matchesIn } from './support/page-person.ts'
import { hrefOf, pagesWith } from './support/sample-pages.ts'
import { sharedService } from './support/storages.ts'
import type { Json } from './support/wire.ts'

const [LITERAL, POUND, TAG] = [0, 7, 8]

/** Returns the arguments of a message as `name`, and its tags as `<name>`. */
function namesIn(nodes: readonly Json[]): string[] {
  return nodes.flatMap(({ type, value, options = {}, children = [] }) => [
    ...(type === LITERAL || type === POUND ? [] : [type === TAG ? `<${value}>` : value]),
    ...Object.values<Json>(options).flatMap((option) => namesIn(option.value)),
    ...namesIn(children),
  ])
}
const argumentsOf = (message: string, language: string) =>
  new Set(namesIn(new IntlMessageFormat(message, language).getAst()))

describe('languages', () => {
  const service = sharedService()

  for (const language of languages) {
    it(`${language} has every message, with the same values and words: “school” for a site, “platform” only for all schools`, () => {
      // Formatting a text loads the catalogue.
      text('word.signIn').for({ language, timeZone: 'UTC' })
      const catalogue = catalogues.get(language) ?? {}
      expect(Object.keys(catalogue)).to.deep.equal(Object.keys(english))
      for (const [id, message] of Object.entries(english)) {
        const translated = argumentsOf(catalogue[id] ?? '', language)
        expect(translated, id).to.deep.equal(argumentsOf(message, 'en'))
      }
      const idsWith = (word: RegExp) =>
        Object.keys(catalogue).filter((id) => word.test(catalogue[id] ?? ''))
      const ofSite = idsWith(/(?<![a-z{])(?:sites?|sitios?)(?![a-z])|サイト/i)
      // The introduction to passkeys mentions other websites.
      expect(ofSite.filter((id) => id !== 'passkeys.intro')).to.deep.equal([])
      const ofPlatform =
        /^(?:client\.vendor|scope\.openid|event\.order|documentClients\.for\.all|audit\.action\.platform_reviewer|providers\.steps)/
      for (const id of idsWith(/pla(?:tt?e?-?|ta)form|プラットフォーム/i))
        expect(id).to.match(ofPlatform)
    })
  }

  it('names each change that may need an approval', () => {
    const mutations = buildSchema(schemaText).getMutationType()?.getFields() ?? {}
    const named = Object.keys(english).filter((id) => id.startsWith('operation.'))
    const changes = [...Object.keys(mutations), 'uploadFile']
    expect(named).to.have.members(changes.map((name) => `operation.${name}`))
  })

  it('has a notice for each change that a page reports', () => {
    const notices = Object.keys(english).filter((id) => id.startsWith('done.'))
    const sources = globSync(['views/*.ts', 'src/pages/**/*.ts']).map((file) => readFileSync(file))
    const code = sources.join('\n')
    for (const [, page] of notices.map((id) => /^done\.(.+)\.[\w-]+$/.exec(id) ?? []))
      if (page !== undefined) expect(code).to.include(`id: '${page}'`)
    const reported = matchesIn(code, /\?done=([\w-]+)/g)
    expect(notices.map((id) => id.split('.').at(-1))).to.include.members(reported)
  })

  it('has no other file of messages', () => {
    const files = readdirSync(new URL('../views/languages', import.meta.url))
    expect(files).to.have.members(languages.map((language) => `${language}.json`))
  })

  /** Matches data on the sample pages, and the values that select a variant of a message. */
  const samples =
    /Signing in|Your account|client_id|\bURL\b|Northlight Academy|Course Notes|[a-e] of the school|BCDF-\w+|\b(?:yes|no|new|done|type|same|first|up|down)\b|[.\w]*\.(?:png|jpg|pdf)\b/g
  /** Sets a catalogue for `ar` with lozenges instead of words, so any word left on a page is hard-coded. */
  const setPseudoLanguage = () => {
    const pseudo = Object.entries(english).map(([id, message]) => {
      const shown = [...argumentsOf(message, 'en')].map((name) =>
        name.startsWith('<') ? `${name}◊</${name.slice(1)}` : `{${name}}`,
      )
      return [id, `◊ ${shown.join(' ')}`] as const
    })
    catalogues.set('ar', Object.fromEntries(pseudo))
  }
  /** Returns the words of a page that are not from the catalogue. Ignores elements whose name matches `data`. */
  const wordsOf = (markup: string, data: string) => {
    expect(markup).to.include('<html lang="ar" dir="rtl">')
    const left = markup.replaceAll(new RegExp(`<(${data})\\b.*?</\\1>`, 'gs'), '')
    const named = left.matchAll(
      / (?:aria-label|alt|title|placeholder|data-(?:other|label))="([^"]*)"/g,
    )
    const words = left.replaceAll(/<[^>]*>/g, ' ')
    return [words, ...[...named].map(([, value]) => value)]
      .join(' ')
      .replaceAll(samples, '')
      .match(/[A-Za-z]{2,}[^◊\d]*/g)
      ?.join(' | ')
      .replaceAll(/\s+/g, ' ')
  }

  it('takes every text of a page from the catalogue, in the direction of the language', () => {
    setPseudoLanguage()
    const frame = { serviceName: '1', stylesheetHref: hrefOf(stylesheet) }
    const reader = { language: 'ar', timeZone: 'UTC' }
    for (const [name, page] of Object.entries(pagesWith('2'))) {
      if (page.language) continue
      const markup = layout({ ...page, scripts: undefined }, frame).for(reader)
      expect(wordsOf(markup, 'head|code|time|select|bdi'), name).to.equal(undefined)
    }
  })

  it('takes the texts of the administration from the catalogue', async () => {
    const { kysely, url } = service()
    const operator = makePagePerson(url, olivia)
    await operator.visit('/admin/northlight/beta')
    await change(kysely, 'person', { email_canonical: olivia.login }, { locale: 'ar' })
    setPseudoLanguage()
    const available = languages as unknown as string[]
    available.push('ar')
    const names = { site: 'northlight', person: 'per_sam', client: 'northlight-notes' }
    const found = new Map<string, string | undefined>()
    for (const pattern of Object.values(pages)) {
      if (!pattern.startsWith('/admin/') || pattern === pages.twoFactors) continue
      const { status, path, text: markup } = await operator.visit(addressOf(pattern, names))
      if (status === 200 && markup.startsWith('<!doctype html>'))
        found.set(path, wordsOf(markup, 'head|header|script|code|time|bdi|textarea'))
    }
    available.pop()
    await change(kysely, 'person', { email_canonical: olivia.login }, { locale: null })
    expect(found.size).to.be.above(9)
    for (const [path, words] of found) expect(words, path).to.equal(undefined)
  })

  const languageOf = (page: string) => /<html lang="(\w+)"/.exec(page)?.[1]
  const signInPage = async (fields: Record<string, string>, accepted = '') => {
    const person = makePagePerson(service().url, sam)
    const page = await openAuthorization(person, service().url, fields)
    const response = await person.open(page, { headers: { 'accept-language': accepted } })
    expect(response.headers.get('vary')).to.match(/accept-language/i)
    return await response.text()
  }

  it('shows the sign-in in the language of ui_locales, then of the browser, and ignores other values and too many [430]', async () => {
    for (const [ui_locales, accepted, expected] of [
      ['de', '', 'de'],
      ['x-klingon pt-BR de', 'fr', 'pt'],
      ['xx yy', 'fr-CA, en;q=0.5', 'fr'],
      ['', 'ja', 'ja'],
      ['', 'tlh', 'en'],
    ] as const)
      expect(languageOf(await signInPage({ ui_locales }, accepted))).to.equal(expected)
    expect(await signInPage({ ui_locales: 'de' }))
      .to.include('Passwort vergessen')
      .and.not.match(/Sign in/)
    for (const ui_locales of [
      '"><script>alert(1)</script>',
      '../../../etc/passwd',
      '__proto__ constructor',
      'de\u0000',
      Array.from({ length: 100 }, (_, at) => `x${at}`).join(' '),
      `${'xx '.repeat(20)}de`,
    ]) {
      const page = await signInPage({ ui_locales })
      expect(languageOf(page), ui_locales).to.equal('en')
      expect(page).not.to.include('alert(1)').and.not.include('etc/passwd')
    }
  })

  it('prefers the language of the person, then that of the site, then that of the browser', async () => {
    const { kysely, url } = service()
    await change(kysely, 'site', { id: 'sit_northlight' }, { language: 'es-MX' })
    expect(languageOf(await signInPage({}, 'fr'))).to.equal('es')
    const person = makePagePerson(url, olivia)
    const choose = async (language: string) =>
      await person.submit('/account', { language, zone: 'UTC' }, '/account/language')
    const chosen = await choose('ja')
    expect(languageOf(chosen.text)).to.equal('ja')
    expect(chosen.text).to.include('<option value="ja" lang="ja" selected>日本語</option>')
    const request = authorizeUrl(url, { prompt: 'consent' })
    expect(languageOf((await person.visit(request.pathname + request.search)).text)).to.equal('ja')
    expect(languageOf((await choose('tlh')).text)).to.equal('ja')
    expect(languageOf((await choose('')).text)).not.to.equal('ja')
  })
})
