import { obtainTokens, userinfo } from './support/client.ts'
import { rowOf, rowsOf } from './support/database.ts'
import { pdf, png } from './support/files.ts'
import { amir, olivia, sam } from './support/gatehouse.ts'
import { linkTo, mailsHandled } from './support/mail-folder.ts'
import { hiddenField, makePagePerson } from './support/page-person.ts'
import { sharedService } from './support/storages.ts'
import { answerOf, expectAnswer } from './support/wire.ts'

const people = '/admin/northlight/people'
const noor = `${people}/per_noor`
const invitations = `${people}/invitations`
const appearance = '/admin/northlight/appearance'

describe('the pages for the people and the appearance of a site', () => {
  const service = sharedService()
  const operator = makePagePerson(() => service().url, olivia)
  const rolesOf = async (person_id: string) =>
    (await rowsOf(service().kysely, 'site_role', { person_id, site_id: 'sit_northlight' }))
      .map(({ role }) => role)
      .sort()

  it('find people by name, address and role', async () => {
    const found = async (query: string) => {
      const { text } = await operator.visit(`${people}?${query}`)
      return [...text.matchAll(/people\/(per_\w+)"/g)].map(([, id]) => id)
    }
    expect(await found('search=Noor')).to.deep.equal(['per_noor'])
    expect(await found('search=amir%40north')).to.deep.equal(['per_amir'])
    expect(await found('role=OWNER')).to.deep.equal(['per_olivia'])
    expect(await found('search=zzz')).to.deep.equal([])
    for (const wrong of ['role=KING', `search=${'x'.repeat(500)}`, 'after=forged'])
      expect((await operator.visit(`${people}?${wrong}`)).status).to.equal(200)
  })

  it('change the roles of a member as the Admin API does, and state why a change is refused', async () => {
    const saved = await operator.submit(noor, { role: ['admin', 'student'] }, `${noor}/roles`)
    expect(saved.path).to.equal(`${noor}?done=roles`)
    expect(await rolesOf('per_noor')).to.deep.equal(['admin', 'student'])
    const none = await operator.submit(noor, {}, `${noor}/roles`)
    expectAnswer(none, 422, 'Choose at least one role.')
    const own = `${people}/per_olivia`
    const last = await operator.submit(own, { role: 'admin' }, `${own}/roles`)
    expect(last.text).to.include('the last owner of a school cannot be removed.')
    expect(await rolesOf('per_olivia')).to.deep.equal(['owner'])
    await operator.submit(noor, { role: 'student' }, `${noor}/roles`)
  })

  // [class escalation]
  it('do not let an admin promote a person to owner, and do not show people of another site', async () => {
    const admin = makePagePerson(service().url, amir)
    const home = await admin.visit('/admin/northlight')
    expect(home.text)
      .to.include('/northlight/people')
      .and.not.match(/identity-providers|two-factors/)
    const asked = await admin.submit(noor, { role: 'owner' }, `${noor}/roles`)
    expect(asked.text).to.include('Only an owner can add or remove owners')
    expect(await rolesOf('per_noor')).to.deep.equal(['student'])
    expect((await operator.visit(`${people}/per_june`)).status).to.equal(404)
  })

  it('invite a person, send the invitation again, and withdraw it', async () => {
    const wrong = await operator.submit(people, { email: 'new', role: 'student' }, invitations)
    expectAnswer(wrong, 422, 'id="email-problem"', 'value="new"', '<title>Please try again: ')
    expect(wrong.text).to.match(/<input id="email"[^>]* autofocus/)
    const email = 'newcomer@school.example'
    const invited = await operator.submit(people, { email, role: 'lecturer' }, invitations)
    expect(invited.text).to.include(email).and.include('The invitation was sent.')
    await mailsHandled(service())
    expect(await linkTo(service(), email)).to.include('/invitation/')
    const [, id = ''] = /name="id" value="([^"]+)"/.exec(invited.text) ?? []
    await operator.submit(people, { id, what: 'resend' }, invitations)
    await linkTo(service(), email, 2)
    const trail = (await operator.visit('/admin/northlight/audit')).text
    expect(trail).to.include('sent an invitation').and.include(email)
    const gone = await operator.submit(people, { id, what: 'withdraw' }, invitations)
    expect(gone.text).to.include('was withdrawn').and.not.include(email)
    const after = (await operator.visit('/admin/northlight/audit')).text
    expect(after).to.include('withdrew an invitation').and.not.include(id)
  })

  it('send a recovery mail to a member', async () => {
    await operator.submit(noor, {}, `${noor}/recovery`)
    await mailsHandled(service())
    expect(await linkTo(service(), 'noor@northlight.example')).to.include('/recover/')
  })

  it('end all access to an account at the site, and remove the person', async () => {
    const ofSam = `${people}/per_sam`
    const { accessToken } = await obtainTokens(service().url)
    expect((await operator.visit(ofSam)).text).to.include('Course Notes')
    const member = makePagePerson(service().url, sam)
    await member.visit('/account')
    expect((await operator.visit(`${ofSam}/end-access`)).text).to.include('Browsers stay signed in')
    expect((await operator.submit(`${ofSam}/end-access`)).text).to.include('No apps are connected')
    expect((await userinfo(service().url, accessToken)).status).to.equal(401)
    expect((await member.open('/account')).status, 'still signed in').to.equal(200)
    const event = await rowOf(service().kysely, 'audit_event', { action: 'grants.end_person' })
    expect(event).to.include({ person_id: 'per_sam', site_id: 'sit_northlight' })
    const removed = await operator.submit(`${noor}/remove`)
    expect(removed.path).to.equal(`${people}?done=removed`)
    expect([await rolesOf('per_noor'), await rolesOf('per_sam')]).to.deep.equal([[], ['student']])
  })

  const submit = async (path: string, fields: Record<string, string | File>) => {
    const form = new FormData()
    form.set('csrf', hiddenField((await operator.visit(appearance)).text))
    for (const [name, value] of Object.entries(fields)) form.append(name, value)
    return await answerOf(await operator.open(path, { method: 'POST', body: form }))
  }
  const lookOf = async () =>
    await rowOf(service().kysely, 'site_appearance', { site_id: 'sit_northlight' })

  it('change the logo, colors and texts of the site', async () => {
    const logo = new File([png], 'logo.png', { type: 'image/png' })
    const chosen = { logo, accentColor: '#7A1F5C', signInWords: 'Hello <you>' }
    const saved = await submit(appearance, chosen)
    expect(saved.headers.get('location')).to.equal(`${appearance}?done=saved`)
    expect(await lookOf()).to.include({ accent_color: '#7a1f5c', sign_in_words: 'Hello <you>' })
    expect((await lookOf())?.logo_file_id).to.match(/^fil_/)
    expect((await operator.visit(appearance)).text).to.match(/<img src="\/assets\/logos\//)
    // If the person chose no file, a browser sends an empty file without a name.
    const none = new File([], '')
    const again = await submit(appearance, { logo: none, signInWords: 'Hello again' })
    expect(again.headers.get('location')).to.equal(`${appearance}?done=saved`)
    expect((await lookOf())?.logo_file_id, 'no file was chosen').to.match(/^fil_/)
    await submit(appearance, { removeLogo: 'yes' })
    expect(await lookOf()).to.include({ logo_file_id: null, accent_color: null })
  })

  it('keep the input of a rejected appearance, and state the problem next to its field', async () => {
    for (const [field, value] of [
      ['accentColor', '#eeeeee'],
      ['backgroundColor', 'red'],
      ['displayName', 'x'.repeat(121)],
      ['logo', new File([pdf], 'logo.png', { type: 'application/pdf' })],
      ['logo', new File([new Uint8Array(530_000).fill(1)], 'logo.png')],
    ] as const) {
      const refused = await submit(appearance, { signInWords: 'Kept', [field]: value })
      expectAnswer(refused, 422, `id="${field}-problem"`, 'Kept')
    }
    const large = new File([new Uint8Array(700_000)], 'logo.png')
    expect((await submit(appearance, { logo: large })).status).to.equal(413)
    const headers = { 'content-type': 'multipart/form-data; boundary=x' }
    const init = { method: 'POST', body: '--x\r\nno form', headers }
    expect((await operator.open(appearance, init)).status).to.equal(400)
  })

  it('show a look before it is saved, on a page whose form cannot be used', async () => {
    const look = { accentColor: '#7a1f5c', displayName: 'North <b>' }
    const { text } = await submit(`${appearance}/preview`, look)
    expect(text).to.include('colors-7a1f5c-own-').and.include('North &#60;b&#62;')
    expect(text).to.include('<fieldset disabled>').and.not.include('<form')
    const plain = await submit(`${appearance}/preview`, { accentColor: 'javascript:alert(1)' })
    expect(plain.text).not.to.match(/colors-|javascript/)
  })
})
