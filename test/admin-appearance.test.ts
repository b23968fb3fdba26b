import { renameSync } from 'node:fs'
import { join } from 'node:path'

import { brighter, contrastOf, dimmed, textColorOn } from '../src/directory/sites/site-look.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { stylesheet } from '../views/stylesheet.ts'
import { mutationOf, operatorSite } from './support/admin-api.ts'
import { asClaude, authorizeUrl } from './support/client.ts'
import { change as setRow } from './support/database.ts'
import { pdf, png, sendFile } from './support/files.ts'
import { olivia, sam } from './support/gatehouse.ts'
import { follow } from './support/identity-provider.ts'
import { makePagePerson, matchesIn } from './support/page-person.ts'
import { shared } from './support/shared.ts'
import { forEachDatabase } from './support/storages.ts'
import { expectText } from './support/wire.ts'

const nothing = {
  ...{ displayName: null, logoFileId: null, logoPath: null, accentColor: null },
  ...{ backgroundColor: null, signInWords: null, consentWords: null },
}
const update = mutationOf('updateAppearance', `appearance { ${Object.keys(nothing).join(' ')} }`)

forEachDatabase('the Admin API: the appearance of a site', (start) => {
  const { running, operator, value, refused, audited, kysely } = operatorSite(start)
  const logo = shared(
    async () => (await sendFile({ ...operator(), name: 'logo.png', bytes: png })).body,
  )

  const change = async (input: object) => (await value(update, { input })).appearance
  const signInPage = async (fields = {}) =>
    await follow(makeHeadlessPerson(sam), authorizeUrl(running().url, fields))

  it('accepts only a small image file of the same site as the logo', async () => {
    const document = await sendFile({ ...operator(), name: 'logo.pdf', bytes: pdf })
    const large = Buffer.concat([png, Buffer.alloc(600_000)])
    const heavy = await sendFile({ ...operator(), name: 'heavy.png', bytes: large })
    const expectRefused = async (logoFileId: string) =>
      expect(await refused(update, { input: { logoFileId } })).to.equal('BAD_INPUT logoFileId')
    for (const { body } of [document, heavy]) await expectRefused(body.id)
    const { id } = heavy.body
    await setRow(kysely(), 'stored_file', { id }, { site_id: 'sit_open_kitchen', size_bytes: 1 })
    await expectRefused(id)
  })

  it('changes sign-in and consent of its own applications at once, and of no others, with a stylesheet for its own colors only', async () => {
    const before = await value('{ appearance { displayName accentColor updatedAt } }')
    expect(before).to.deep.equal({ displayName: null, accentColor: null, updatedAt: null })
    expect((await signInPage()).text).not.to.match(/colors-|class="words"/)
    const chosen = {
      displayName: 'Northlight <Film>',
      logoFileId: logo().id,
      accentColor: '#8A1C4A',
      backgroundColor: '#102030',
      signInWords: 'Welcome back.\n<b>New</b> courses start in May.',
      consentWords: 'Only allow what you use.',
    }
    const changed = await change(chosen)
    expect(changed).to.deep.include({ ...chosen, accentColor: '#8a1c4a' })
    expect(changed.logoPath).to.match(/^\/assets\/logos\/sit_northlight\/[0-9a-f]{64}$/)

    const { text, headers } = await signInPage()
    const words = '&#60;b&#62;New&#60;/b&#62; courses'
    expectText(text, 'alt="Northlight &#60;Film&#62;"', words, 'on Gatehouse')
    expect(text).not.to.include('Only allow')
    const policy = headers.get('content-security-policy')
    expect(policy).to.include("style-src 'self'; img-src 'self' data:")
    const sheet = await fetch(running().url + /\/assets\/colors\/[^"]+/.exec(text)?.[0])
    expect(sheet.headers.get('content-type')).to.match(/^text\/css/)
    expect(sheet.headers.get('cache-control')).to.include('immutable')
    const css = await sheet.text()
    const wrong = ['colors-own-own-0123456789.css', 'colors-8a1c4a-102030-0123456789.css', 'x']
    for (const file of wrong)
      expect((await fetch(`${running().url}/assets/colors/${file}`)).status, file).to.equal(404)
    // The page has one stylesheet: the service's, with the site's colors.
    expect(text.match(/<link rel="stylesheet"/g)).to.have.length(1)
    expect(Buffer.byteLength(text + css)).to.be.below(40_000)
    const light = ':root { --accent: #8a1c4a; --accent-over: #681538; --on-accent: #ffffff;'
    const dark = `(prefers-color-scheme: dark) { :root { --accent: ${brighter('#8a1c4a')};`
    const ground = '--ground: #102030; --on-ground: #ffffff;'
    expectText(css, String(stylesheet.content), light, ground, dark)

    const { text: another } = await signInPage({ ...asClaude, scope: 'openid' })
    expect(another)
      .to.include('Sign in')
      .and.not.match(/Northlight|colors-|class="words"/)
  })

  it('changes the account pages of people with roles at this site only', async () => {
    const page = await makePagePerson(running().url, sam).visit('/account')
    expect(page.text).to.include('alt="Northlight &#60;Film&#62;"')
    const operators = await makePagePerson(running().url, olivia).visit('/admin')
    expect(operators.text).not.to.include('/assets/logos/')
  })

  it('serves its logo publicly, to GET and HEAD, with an immutable cache, and no other file of the site', async () => {
    const { logoPath } = await value('{ appearance { logoPath } }')
    const shown = await fetch(running().url + logoPath)
    expect(Buffer.from(await shown.arrayBuffer()).equals(png)).to.equal(true)
    expect(Object.fromEntries(shown.headers)).to.include({
      'content-type': 'image/png',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
    })
    const head = await fetch(running().url + logoPath, { method: 'HEAD' })
    const seen = [head.status, head.headers.get('content-length')]
    expect(seen).to.deep.equal([200, String(png.length)])
    for (const { id, sha256 } of (await value('{ files { nodes { id sha256 } } }')).nodes) {
      if (id === logo().id) continue
      const address = logoPath.replace(/[0-9a-f]{64}$/, sha256)
      expect((await fetch(running().url + address)).status).to.equal(404)
    }
    const removal = `mutation { deleteFile(id: "${logo().id}") { deletedId } }`
    expect(await refused(removal)).to.equal('CONFLICT')
    // The logo's file is missing on this host.
    const folder = join(running().config.dataDir, 'files')
    renameSync(folder, `${folder}-elsewhere`)
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await fetch(running().url + logoPath, { method })
      expect([status, headers.get('cache-control')], method).to.deep.equal([404, 'no-store'])
    }
    renameSync(`${folder}-elsewhere`, folder)
  })

  it('audits changes only', async () => {
    const before = await audited('appearance.update')
    await change({ displayName: 'Northlight <Film>', accentColor: '#8a1c4a' })
    expect(await audited('appearance.update')).to.have.length(before.length)
    const { logoPath: _, ...cleared } = nothing
    expect(await change(cleared)).to.deep.equal(nothing)
    const [, last] = await audited('appearance.update')
    expect(last).to.include({ actor_person_id: 'per_olivia', subject_id: 'sit_northlight' })
    expect(JSON.parse(last?.before ?? '')).to.include({ backgroundColor: '#102030' })
    expect((await signInPage()).text).not.to.match(/colors-|class="words"/)
  })
})

describe('the contrast of two colors (WCAG 2.2)', () => {
  it('is the ratio that the recommendation defines, in either order', () => {
    expect(contrastOf('#000000', '#ffffff')).to.be.closeTo(21, 0.001)
    expect(contrastOf('#ffffff', '#ffffff')).to.equal(1)
    // On white, these greys are just above and just below the limit of 4.5.
    expect(contrastOf('#767676', '#ffffff')).to.be.within(4.5, 4.55)
    expect(contrastOf('#ffffff', '#777777')).to.be.within(4.47, 4.5)
  })
  it('is sufficient in the dark scheme for any color that a site can choose', () => {
    const dark = /scheme: dark\)[^}]*/.exec(String(stylesheet.content))?.[0] ?? ''
    const grounds = matchesIn(dark, /--(?:card|page|warn|bad|good): (#\w+)/g)
    const parts = ['00', '33', '66', '99', 'cc', 'ff']
    const pairs = parts.flatMap((red) => parts.map((green) => `#${red}${green}`))
    const colors = pairs.flatMap((pair) => parts.map((blue) => pair + blue))
    for (const color of colors) {
      const accent = brighter(color)
      for (const ground of [...grounds, textColorOn(accent)])
        expect(contrastOf(accent, ground), color).to.be.least(4.5)
      expect(contrastOf(dimmed(color), textColorOn(dimmed(color))), color).to.be.least(10)
    }
    expect(grounds).to.have.length(5)
    expect(dimmed('#102030')).to.equal('#102030')
  })
})
