import { expect } from 'chai'

import { contrastOf, darker } from '../src/directory/sites/site-look.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { type Operator, startOperator } from './support/admin-api.ts'
import { authorizeUrl } from './support/client.ts'
import { pdf, png, sendFile } from './support/files.ts'
import { claude, olivia, type RunningService, sam } from './support/gatehouse.ts'
import { makePagePerson } from './support/page-person.ts'
import { forEachDatabase } from './support/storages.ts'

const update =
  'mutation ($input: UpdateAppearanceInput!) { updateAppearance(input: $input) { appearance { displayName logoFileId logoPath accentColor backgroundColor signInWords consentWords } } }'

const nothing = {
  displayName: null,
  logoFileId: null,
  logoPath: null,
  accentColor: null,
  backgroundColor: null,
  signInWords: null,
  consentWords: null,
}

forEachDatabase('the Admin API: the appearance of a site', (start) => {
  let running: RunningService
  let operator: Operator
  let logoId = ''
  before(async () => {
    running = await start()
    operator = await startOperator(running)
    logoId = (await sendFile({ ...operator, name: 'logo.png', bytes: png })).body.id
  })
  after(async () => await running?.[Symbol.asyncDispose]())

  const change = async (input: object) =>
    (await operator.run(update, { input })).updateAppearance.appearance
  const audited = async () =>
    await running.service.stores.database.kysely
      .selectFrom('audit_event')
      .selectAll()
      .where('action', '=', 'appearance.update')
      .orderBy('occurred_at')
      .execute()
  /** The page on which somebody new to the browser lands. */
  const signInPage = async (fields: Record<string, string> = {}) => {
    const person = makeHeadlessPerson(sam)
    const started = await person.open(new URL(authorizeUrl(running.url, fields)))
    const page = await person.open(new URL(String(started.headers.get('location')), running.url))
    return { text: await page.text(), policy: page.headers.get('content-security-policy') }
  }

  it("is the service's own by default", async () => {
    const { appearance } = await operator.run(
      '{ appearance { displayName accentColor updatedAt } }',
    )
    expect(appearance).to.deep.equal({ displayName: null, accentColor: null, updatedAt: null })
    expect((await signInPage()).text).not.to.match(/colors-|class="words"/)
  })

  it('names the field that is wrong, and says which colors cannot be read and by how much', async () => {
    const refused = async (input: object) => await operator.refused(update, { input })
    for (const [field, value] of [
      ['displayName', ''],
      ['displayName', 'x'.repeat(121)],
      ['signInWords', 'x'.repeat(501)],
      ['accentColor', 'red'],
      ['accentColor', '#0c6'],
      ['backgroundColor', '#fff;} body{'],
      ['logoFileId', 'fil_nothing'],
    ] as const) {
      expect(await refused({ [field]: value }), field).to.deep.equal({
        code: 'BAD_INPUT',
        argument: field,
      })
    }
    const said = async (input: object) => {
      const { body } = await operator.ask(update, { input })
      return body.errors?.[0]?.message
    }
    expect(await said({ accentColor: '#ffcc00' })).to.equal(
      'accentColor must be legible: text in #ffffff on #ffcc00 has a contrast of 1.51:1; ' +
        'choose a color with 4.5:1 or more',
    )
    expect(await said({ backgroundColor: '#7c7c7c' })).to.equal(
      'backgroundColor must be legible: text in #ffffff on #7c7c7c has a contrast of 4.17:1; ' +
        'choose a color with 4.5:1 or more',
    )
    expect(await audited()).to.deep.equal([])
  })

  it('takes a picture of the site for its logo, and nothing else', async () => {
    const document = await sendFile({ ...operator, name: 'logo.pdf', bytes: pdf })
    const large = Buffer.concat([png, Buffer.alloc(600_000)])
    const heavy = await sendFile({ ...operator, name: 'heavy.png', bytes: large })
    for (const { body } of [document, heavy]) {
      expect(await operator.refused(update, { input: { logoFileId: body.id } })).to.deep.equal({
        code: 'BAD_INPUT',
        argument: 'logoFileId',
      })
    }
    const { kysely } = running.service.stores.database
    const theirs = kysely.updateTable('stored_file').where('id', '=', heavy.body.id)
    await theirs.set({ site_id: 'sit_open_kitchen', size_bytes: 1 }).execute()
    expect(await operator.refused(update, { input: { logoFileId: heavy.body.id } })).to.deep.equal({
      code: 'BAD_INPUT',
      argument: 'logoFileId',
    })
  })

  it('shows at once on sign-in and consent of its own applications, and on no others', async () => {
    const chosen = {
      displayName: 'Northlight <Film>',
      logoFileId: logoId,
      accentColor: '#8A1C4A',
      backgroundColor: '#102030',
      signInWords: 'Welcome back.\n<b>New</b> courses start in May.',
      consentWords: 'Only allow what you use.',
    }
    const changed = await change(chosen)
    expect(changed).to.deep.include({ ...chosen, accentColor: '#8a1c4a' })
    expect(changed.logoPath).to.match(/^\/assets\/logos\/sit_northlight\/[0-9a-f]{64}$/)

    const { text, policy } = await signInPage()
    expect(text).to.include('alt="Northlight &#60;Film&#62;"')
    expect(text).to.include('&#60;b&#62;New&#60;/b&#62; courses')
    expect(text).not.to.include('Only allow')
    expect(text).to.include('on Gatehouse')
    expect(policy).to.include("style-src 'self'; img-src 'self' data:")
    const sheet = await fetch(running.url + /\/assets\/colors\/[^"]+/.exec(text)?.[0])
    expect(sheet.headers.get('content-type')).to.match(/^text\/css/)
    expect(sheet.headers.get('cache-control')).to.include('immutable')
    const rules = await sheet.text()
    expect(rules).to.include('--accent: #8a1c4a')
    expect(rules).to.include('body { background: #102030; color: #ffffff; }')

    const others = await signInPage({
      client_id: claude.clientId,
      redirect_uri: claude.redirectUri,
      scope: 'openid',
    })
    expect(others.text).to.include('Sign in')
    expect(others.text).not.to.match(/Northlight|colors-|class="words"/)
  })

  it('shows on the account pages of people with roles at this site only', async () => {
    const page = await makePagePerson(running.url, sam).visit('/account')
    expect(page.text).to.include('alt="Northlight &#60;Film&#62;"')
    const operators = await makePagePerson(running.url, olivia).visit('/admin')
    expect(operators.text).not.to.include('/assets/logos/')
  })

  it('serves its logo publicly with an immutable cache, and no other file of the site', async () => {
    const { appearance } = await operator.run('{ appearance { logoPath } }')
    const logo = await fetch(running.url + appearance.logoPath)
    expect(Buffer.from(await logo.arrayBuffer()).equals(png)).to.equal(true)
    expect(Object.fromEntries(logo.headers)).to.include({
      'content-type': 'image/png',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
    })
    const head = await fetch(running.url + appearance.logoPath, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length')]).to.deep.equal([
      200,
      String(png.length),
    ])
    const { files } = await operator.run('{ files { nodes { id sha256 } } }')
    for (const { id, sha256 } of files.nodes) {
      if (id === logoId) continue
      const address = appearance.logoPath.replace(/[0-9a-f]{64}$/, sha256)
      expect((await fetch(running.url + address)).status).to.equal(404)
    }
    const removal = 'mutation ($id: ID!) { deleteFile(id: $id) { deletedId } }'
    expect((await operator.refused(removal, { id: logoId })).code).to.equal('CONFLICT')
  })

  it('has no stylesheet but those of its colors', async () => {
    for (const file of [
      'colors-own-own-0123456789.css',
      'colors-8a1c4a-102030-0123456789.css',
      'x',
    ])
      expect((await fetch(`${running.url}/assets/colors/${file}`)).status).to.equal(404)
  })

  it('is no change when it is so already, and is audited when it is one', async () => {
    const before = (await audited()).length
    await change({ displayName: 'Northlight <Film>', accentColor: '#8a1c4a' })
    expect(await audited()).to.have.length(before)
    const cleared = Object.fromEntries(
      Object.keys(nothing)
        .filter((name) => name !== 'logoPath')
        .map((name) => [name, null]),
    )
    expect(await change(cleared)).to.deep.equal(nothing)
    const [, last] = await audited()
    expect(last).to.include({ actor_person_id: 'per_olivia', subject_id: 'sit_northlight' })
    expect(JSON.parse(last?.before ?? '')).to.include({ backgroundColor: '#102030' })
    expect((await signInPage()).text).not.to.match(/colors-|class="words"/)
  })
})

describe('the contrast of two colors (WCAG 2.2)', () => {
  it('is as the recommendation counts it, either way round', () => {
    expect(contrastOf('#000000', '#ffffff')).to.be.closeTo(21, 0.001)
    expect(contrastOf('#ffffff', '#ffffff')).to.equal(1)
    // The two greys that are known to lie on either side of the limit on white.
    expect(contrastOf('#767676', '#ffffff')).to.be.within(4.5, 4.55)
    expect(contrastOf('#ffffff', '#777777')).to.be.within(4.47, 4.5)
  })

  it('with white only grows when a color is made darker', () => {
    expect(darker('#8a1c4a')).to.equal('#681538')
    expect(contrastOf(darker('#8a1c4a'), '#ffffff')).to.be.above(contrastOf('#8a1c4a', '#ffffff'))
  })
})
