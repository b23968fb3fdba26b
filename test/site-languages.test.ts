import { mutationOf, operatorSite } from './support/admin-api.ts'
import { asClaude, authorizeUrl, openAuthorization } from './support/client.ts'
import { change } from './support/database.ts'
import { marco, olivia, sam } from './support/gatehouse.ts'
import { linkTo, mailsTo } from './support/mail-folder.ts'
import { hiddenField, linkOf, makePagePerson } from './support/page-person.ts'
import { forEachDatabase } from './support/storages.ts'

const own = 'texts { language displayName signInWords consentWords }'
const setTexts = mutationOf('updateAppearance', `appearance { displayName signInWords ${own} }`)
const setSite = mutationOf('updateSite', 'site { language languages }')
const six = ['en', 'de', 'es', 'fr', 'ja', 'pt']
const languageOf = (page: string) => /<html lang="(\w+)"/.exec(page)?.[1]

forEachDatabase('the languages of a site', (start) => {
  const { running, value, refused, run, audited, kysely } = operatorSite(start)
  const setLook = async (input: object) => (await value(setTexts, { input })).appearance
  const siteOf = async (input: object) => (await value(setSite, { input })).site
  const words = { displayName: 'Akademie <Nord>', signInWords: 'Willkommen & <b>hallo</b>.' }
  const german = { language: 'de', ...words, consentWords: null }

  const open = async (fields: Record<string, string> = {}, accepted = 'en') => {
    const person = makePagePerson(running().url, sam)
    const { pathname: path } = await openAuthorization(person, running().url, fields)
    const response = await person.open(path, { headers: { 'accept-language': accepted } })
    return { person, page: { path, status: 200, text: await response.text() } }
  }
  const signIn = async (fields?: Record<string, string>, accepted?: string) =>
    (await open(fields, accepted)).page.text
  const consentOf = async (person = makePagePerson(running().url, sam)) => {
    await person.visit('/account')
    const request = authorizeUrl(running().url, { prompt: 'consent' })
    return (await person.visit(request.pathname + request.search)).text
  }

  it('are all those of the service by default, and limit ui_locales, person, site and browser on pages of its apps only', async () => {
    expect(await value('{ site { language languages } }')).to.deep.include({ languages: six })
    expect(languageOf(await signIn({}, 'ja'))).to.equal('ja')
    const chosen = await siteOf({ languages: ['fr', 'de', 'fr'], language: null })
    expect(chosen.languages).to.deep.equal(['de', 'fr'])
    for (const [fields, accepted, expected] of [
      [{ ui_locales: 'ja fr-CA de' }, 'ja', 'fr'],
      [{ ui_locales: 'ja' }, 'es, fr;q=0.5', 'fr'],
      [{}, 'es', 'de'],
      [{ ...asClaude, scope: 'openid', ui_locales: 'ja' }, 'de', 'ja'],
    ] as const)
      expect(languageOf(await signIn(fields, accepted)), expected).to.equal(expected)
    await change(kysely(), 'person', { id: 'per_sam' }, { locale: 'pt-BR' })
    expect(languageOf(await consentOf())).to.equal('de')
    await siteOf({ language: 'fr' })
    const account = await makePagePerson(running().url, sam).visit('/account')
    expect(languageOf(account.text)).to.equal('fr')
    // The person's own choice stays, although the site does not offer it.
    expect(account.text).to.match(/value="pt"[^>]* selected/)
    expect(account.text).to.include('value="de"').and.not.include('value="es"')
    await change(kysely(), 'person', { id: 'per_sam' }, { locale: 'de' })
    expect(languageOf(await consentOf())).to.equal('de')
  })

  it('must be languages of the service and include the default language', async () => {
    for (const input of [{ languages: ['en', 'de'] }, { language: 'ja-JP' }])
      expect(await refused(setSite, { input })).to.equal('BAD_INPUT languages')
    for (const languages of [['tlh'], ['__proto__'], ['de-AT'], Array(7).fill('de')])
      expect(await refused(setSite, { input: { languages } })).to.match(/^BAD_INPUT languages/)
    const spanish = { language: 'es-MX', languages: six }
    expect(await siteOf(spanish)).to.deep.equal(spanish)
    expect(await siteOf({ language: 'nl' })).to.include({ language: 'nl' })
    await siteOf({ languages: [], language: null })
  })

  it('have their own name and texts, which the other languages do not show', async () => {
    const before = (await audited('appearance.update')).length
    await setLook({ displayName: 'Northlight', consentWords: 'Only what you use.' })
    const changed = await setLook(german)
    expect(changed).to.deep.equal({ displayName: 'Northlight', signInWords: null, texts: [german] })
    expect(await setLook(german)).to.deep.equal(changed)
    expect(await audited('appearance.update')).to.have.length(before + 2)
    const [page, other] = [await signIn({ ui_locales: 'de' }), await signIn({ ui_locales: 'fr' })]
    expect(page).to.include('<bdi>Akademie &#60;Nord&#62;</bdi>')
    expect(page).to.include('<blockquote><bdi>Willkommen &#38; &#60;b&#62;hallo&#60;/b&#62;.</bdi>')
    expect(other).to.include('<bdi>Northlight</bdi>')
    expect(other).to.not.match(/Akademie|class="words"/)
    expect((await value('{ site { name } }')).name).to.equal('Northlight Academy')
  })

  it('decide the name of the site at consent, in the account and in mail to the person, and fall back without texts', async () => {
    const person = makePagePerson(running().url, sam)
    expect(await consentOf(person))
      .to.include('<strong><bdi>Akademie &#60;Nord&#62;</bdi></strong>')
      .and.include('Only what you use.')
    for (const path of ['/account', '/account/notifications'])
      expect((await person.visit(path)).text, path).to.include('<bdi>Akademie &#60;Nord&#62;</bdi>')
    await run('mutation { sendPasswordRecovery(id: "per_sam") { id } }')
    await linkTo(running(), sam.login)
    const mail = mailsTo(running(), sam.login).find((each) => each.includes('/recover/'))
    expect(mail).to.match(/^Subject: .*Passwort/m)
    for (const said of ['Akademie <Nord>', 'Akademie &#60;Nord&#62;', 'Guten Tag'])
      expect(mail).to.include(said)
    await change(kysely(), 'person', { id: 'per_sam' }, { locale: 'fr' })
    const french = await consentOf()
    expect(french).to.include('<bdi>Northlight Academy</bdi>').and.not.include('Akademie')
    const { texts } = await setLook({ language: 'de', displayName: null, signInWords: null })
    expect(texts).to.deep.equal([])
    expect(await signIn({ ui_locales: 'de' })).to.include('<bdi>Northlight</bdi>')
  })

  it('reject text that could disguise or break a page [470]', async () => {
    for (const [input, field] of [
      [{ language: 'de', displayName: 'Nord\u202edroN' }, 'displayName'],
      [{ language: 'de', displayName: 'a\u2066b' }, 'displayName'],
      [{ language: 'de', displayName: 'a\nb' }, 'displayName'],
      [{ language: 'de', displayName: ' \u200b' }, 'displayName'],
      [{ language: 'de', displayName: 'x'.repeat(121) }, 'displayName'],
      [{ language: 'de', signInWords: 'x'.repeat(501) }, 'signInWords'],
      [{ language: 'de', consentWords: 'a\0b' }, 'consentWords'],
      [{ language: 'tlh', displayName: 'x' }, 'language'],
      [{ language: '__proto__', displayName: 'x' }, 'language'],
    ] as const)
      expect(await refused(setTexts, { input })).to.equal(`BAD_INPUT ${field}`)
    expect((await value(`{ appearance { ${own} } }`)).texts).to.deep.equal([])
    const markup = '"><script>alert(1)</script>'
    await setLook({ language: 'ja', displayName: markup, signInWords: `\u202e${markup}` })
    const page = await signIn({ ui_locales: 'ja' })
    expect(page).to.include('<blockquote><bdi>\u202e&#34;').and.not.include('<script>alert')
    await setLook({ language: 'ja', displayName: null, signInWords: null })
  })

  it('are not changed by an operator of another site, or without the form of the page [471]', async () => {
    const stored = await value(`{ appearance { displayName ${own} } }`)
    const stranger = makePagePerson(running().url, marco)
    await stranger.visit('/admin/open-kitchen/appearance')
    const operator = makePagePerson(running().url, olivia)
    await operator.visit('/admin/northlight/appearance')
    for (const person of [stranger, operator]) {
      for (const path of ['?language=de', '/languages']) {
        const form = { displayName: 'Mine', languages: 'ja' }
        const { status } = await person.post(`/admin/northlight/appearance${path}`, form)
        expect(status, path).to.equal(403)
      }
    }
    expect(await value(`{ appearance { displayName ${own} } }`)).to.deep.equal(stored)
    expect((await value('{ site { languages } }')).languages).to.deep.equal(six)
  })

  it('are chosen on the page Appearance, which previews the texts of a language', async () => {
    const operator = makePagePerson(running().url, olivia)
    const base = '/admin/northlight/appearance'
    const german = await operator.visit(`${base}?language=de`)
    expect(german.text).to.include('German').and.not.include('id="accentColor"')
    const typed = { displayName: 'Akademie', signInWords: 'Guten Tag!', consentWords: '' }
    const preview = await operator.send(german, `${base}?language=de`, typed)
    expect(preview.path).to.equal(`${base}?language=de&done=saved`)
    expect(preview.text).to.include('value="Akademie"')
    const hidden = hiddenField(german.text)
    const shown = await operator.post(`${base}/preview?language=de`, { ...typed, csrf: hidden })
    expect(languageOf(shown.text)).to.equal('de')
    expect(shown.text).to.include('Guten Tag!').and.include('Passwort')
    const all = await operator.visit(base)
    const languages = `${base}/languages`
    const two = { language: 'de', languages: ['de', 'ja'] }
    expect((await operator.send(all, languages, two)).path).to.equal(`${base}?done=saved`)
    expect(await value('{ site { language languages } }')).to.deep.equal(two)
    for (const unknown of ['xx', 'de&language=fr'])
      expect((await operator.visit(`${base}?language=${unknown}`)).status).to.equal(404)
    const wrong = await operator.send(all, languages, { language: 'fr', languages: ['de'] })
    // The administration pages also use the site's language.
    expect(wrong.text).to.include('Die Sprachen müssen die Standardsprache enthalten.')
    expect(wrong.text).to.include('value="Northlight"')
  })

  it('follow a person from the sign-in to the recovery and sign-up pages', async () => {
    await siteOf({ languages: [], language: null })
    await run('mutation { setSelfSignUp(isEnabled: true) { id } }')
    const { person, page } = await open({ ui_locales: '"><script> ja' })
    for (const id of ['recover', 'sign-up']) {
      const path = linkOf(page, id)
      expect(path).to.match(/&ui_locales=ja$/)
      const form = await person.visit(path)
      expect(languageOf(form.text), path).to.equal('ja')
      const action = /<form method="post" action="([^"]*)"/.exec(form.text)?.[1] ?? ''
      const sent = await person.send(form, action, { login: 'new@northlight.example' })
      expect(sent.path).to.match(/-sent.*\?ui_locales=ja$/)
      expect(languageOf(sent.text), action).to.equal('ja')
    }
    await linkTo(running(), 'new@northlight.example')
    expect(mailsTo(running(), 'new@northlight.example').at(-1)).to.include('メールアドレスの確認')
    const bad = await person.visit('/recover?ui_locales=%22%3E%3Cscript%3E')
    expect(bad.text).to.include('ui_locales=en').and.not.include('<script>')
  })
})
