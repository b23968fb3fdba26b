import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

import { makeAdminSchema } from '../src/api/admin-api/admin-api.ts'
import { fieldsOfInput } from '../src/api/graphql/schema.ts'
import { paths } from '../src/platform/http/paths.ts'
import { demandApproval, needsApproval } from '../src/school/changes/approvals.ts'
import { insert, rowOf, change as setBack } from './support/database.ts'
import { pdf, type Sending, sendFile } from './support/files.ts'
import { amir, olivia, policyWith, sam } from './support/gatehouse.ts'
import { operatorToken, problemOf, readTool } from './support/mcp.ts'
import { hiddenField, makePagePerson, matchesIn } from './support/page-person.ts'
import { fresh } from './support/shared.ts'
import { forEachDatabase } from './support/storages.ts'
import { bearer, expectAnswer, expectText, postForm, postJson, refusalOf } from './support/wire.ts'

const scope = 'courses:read courses:write curriculum:read curriculum:write'
const linked = '/admin/sit_northlight/approvals'
const page = '/admin/northlight/approvals'
const draft = { slug: 'fog', title: 'Photographing Fog', summary: 'Three grey mornings.' }

describe('whether a change needs an approval (design 37)', () => {
  for (const [covers, exemptsIntegrations, origin, isDestructive, expected] of [
    ['destructive', false, 'loopback', true, true],
    ['destructive', false, 'document', true, true],
    ['destructive', false, 'loopback', false, false],
    ['destructive', false, 'integration', true, true],
    ['destructive', true, 'integration', true, false],
    ['destructive', true, 'loopback', true, true],
    ['every', false, 'loopback', false, true],
    ['every', true, 'document', false, true],
    ['never', false, 'loopback', true, false],
    ['every', false, 'site', true, false],
    ['every', false, 'operator', true, false],
    ['every', false, 'first_party', true, false],
  ] as const) {
    it(`${covers}, ${origin}, ${isDestructive ? 'destructive' : 'harmless'}: ${expected}`, () => {
      const needed = needsApproval({ covers, exemptsIntegrations }, origin, isDestructive)
      expect(needed).to.equal(expected)
    })
  }
})

forEachDatabase('approvals of changes', (start) => {
  const begun = fresh(async () => {
    const clock = { aheadMs: 0 }
    // If the clock stood still, a page session would seem older than its browser session, so it would not be fresh.
    const running = await start({
      demandsApprovals: true,
      now: () => Date.now() + clock.aheadMs,
      policy: policyWith({ files: { fileBytesMax: 100_000 } }),
    })
    const token = await operatorToken(running.url, scope)
    const { id } = await readTool(running.url, 'create_course', { token, values: draft })
    return { ...running, token, id, clock, person: makePagePerson(running.url, olivia) }
  })
  const decide = async (decision: string) => {
    const { person } = begun()
    const shown = await person.visit(page)
    const change = matchesIn(shown.text, /name="change" value="([^"]*)"/g)
    await person.send(shown, page, { change, decision })
    return shown.text
  }
  const setPolicy = (covers: string) => begun().person.submit(page, { covers }, `${page}/policy`)
  const change = async (tool: string) => {
    const { url, token, id } = begun()
    return await readTool(url, tool, { token, values: { id } })
  }
  const refused = async (tool = 'publish_course', values = {}, token = begun().token) =>
    await problemOf(begun().url, tool, { token, values: { id: begun().id, ...values } })
  const publishedAt = async () =>
    (await rowOf(begun().kysely, 'course', { id: begun().id })).published_at

  it('publishes only after the person approved, once, and audits both', async () => {
    expectText(await refused(), `${begun().url}${linked}?client=loopback_`, 'ten minutes')
    expect(await publishedAt()).to.equal(null)
    await refused()
    const text = await decide('approve')
    expectText(text, 'Publish the course', draft.title, 'Operator tools')
    expect(text.match(/name="change"/g)).to.have.length(1)
    await change('publish_course')
    expect(await publishedAt()).to.not.equal(null)
    // The approval was for one request, so a repetition needs another approval.
    await refused()
    const event = await rowOf(begun().kysely, 'audit_event', { action: 'change.approve' })
    expect(event).to.include({ actor_person_id: 'per_olivia', site_id: 'sit_northlight' })
  })

  it('cover only the approved arguments, for ten minutes, and never a rejected change', async () => {
    await refused()
    await decide('approve')
    await refused('publish_course', { id: 'crs_slow_bread' })
    await refused('publish_course', { at: '2030-01-01T00:00:00Z' })
    begun().clock.aheadMs += 10 * 60_000 + 1
    await refused()
    await decide('reject')
    await refused()
    expect(await publishedAt()).to.equal(null)
  })

  it('are needed at /admin/graphql too, for each change of a document', async () => {
    const { url, token, id } = begun()
    const query = `mutation { one: archiveCourse(id: "${id}") { id } two: publishCourse(id: "${id}") { id } }`
    const { body } = await postJson(url + paths.adminGraphql, { query }, { token })
    expect(body.data).to.deep.equal({ one: null, two: null })
    for (const { extensions } of body.errors) {
      expect(extensions.code).to.equal('APPROVAL_REQUIRED')
      expect(extensions.approvalUrl).to.include(linked)
    }
  })

  it('let an owner choose which changes need one; at most 50 wait for one client, also after parallel requests', async () => {
    await setPolicy('every')
    const titles = Array.from({ length: 60 }, (_, number) => `Fog ${number}`)
    const problems = await Promise.all(titles.map((title) => refused('update_course', { title })))
    for (const problem of problems) expect(problem).to.include(linked)
    const limited = problems.filter((problem) => problem.includes('pending or approved'))
    expect(limited).to.have.length(10)
    await setPolicy('never')
    for (const name of ['publish', 'archive', 'restore']) await change(`${name}_course`)
  })

  it('of an announcement cover its content, which the page shows [472]', async () => {
    const { url, kysely } = begun()
    const token = await operatorToken(url, 'posts:read posts:write')
    const values = { topic: 'announcements', title: 'Fog is back', body: 'Bring a tripod.' }
    const { id } = await readTool(url, 'create_post', { token, values })
    const sentAt = async () => (await rowOf(kysely, 'post', { id })).published_at
    await refused('publish_post', { id }, token)
    expectText(await decide('approve'), values.title, values.body)
    await readTool(url, 'update_post', { token, values: { id, body: 'Pay me.' } })
    expect(await refused('publish_post', { id }, token)).to.include(linked)
    expect(await sentAt()).to.equal(null)
    expect(await decide('approve')).to.include('Pay me.')
    await readTool(url, 'publish_post', { token, values: { id } })
    expect(await sentAt()).to.not.equal(null)
  })

  it('can be withdrawn until they are used; the page says if nothing was decided [473]', async () => {
    const { person, kysely } = begun()
    await refused()
    await decide('approve')
    const { id } = await rowOf(kysely, 'pending_change')
    expect((await person.visit(page)).text).to.include('Your assistant can still carry it out')
    await person.submit(page, { change: id, decision: 'reject' })
    await refused()
    expect(await publishedAt()).to.equal(null)
    const late = await person.submit(page, { change: id, decision: 'approve' })
    expectText(late.text, 'Nothing was decided', 'role="alert"')
  })

  it('are needed to restore an item and to move the end of an enrolment [474], but not to change an object that does not exist', async () => {
    const token = await operatorToken(begun().url, 'courses:write students:write posts:write')
    const { id } = await rowOf(begun().kysely, 'course_purchase', { course_id: 'crs_darkroom' })
    for (const [tool, values, said] of [
      ['restore_course', {}, linked],
      ['update_enrolment', { id, expireDate: '2030-01-01T00:00:00Z' }, linked],
      ['archive_course', { id: 'nope' }, 'there is no course with this id'],
      ['archive_course', { id: 'crs_slow_bread' }, 'there is no course with this id'],
      ['publish_post', { id: 'nope' }, 'there is no post with this id'],
    ] as const) {
      expect(await refused(tool, values, token), tool).to.include(said)
    }
  })

  it('are asked for every kind of object that a mutation names by its id', async () => {
    const { kysely, service, url, token } = begun()
    const [site_id, now] = ['sit_northlight', Date.now()]
    const created = { site_id, created_at: now }
    const invited = { kind: 'invitation', email: sam.login, email_canonical: sam.login } as const
    await insert(kysely, 'one_time_link', { id: 'inv', ...created, ...invited, expires_at: now })
    const endpoint = { url: 'https://hooks.example/', payload: 'thin', sealed_secret: '' } as const
    await insert(kysely, 'webhook_endpoint', { id: 'whe', ...created, ...endpoint })
    const written = { topic: 'announcements', title: 'Fog', body: 'Bring a tripod.' }
    await insert(kysely, 'post', { id: 'pst', ...created, ...written, updated_at: now })
    const values = { courseId: 'crs_reading_light', title: 'Fog' }
    const section = await readTool(url, 'create_section', { token, values })
    const registration = await rowOf(kysely, 'event_registration', { event_id: 'evt_dawn_walk' })
    const ids = {
      ...{ Course: 'crs_reading_light', DigitalProduct: 'dig_shot_list', Event: 'evt_dawn_walk' },
      ...{ Post: 'pst', Section: section.id, Lecture: 'lec_light_window' },
      ...{ Registration: registration.id, File: 'fil_shot_list', Invitation: 'inv' },
      ...{ MemberRoles: 'per_noor', Member: 'per_noor', PasswordRecovery: 'per_noor' },
      ...{ WebhookEndpoint: 'whe', WebhookSecret: 'whe', WebhookEvents: 'whe' },
      Enrolment: 'pur_sam_light',
    }
    const client = { clientId: 'loopback_x', clientOrigin: 'loopback' }
    const caller = { ...client, siteId: site_id, personId: 'per_olivia', requestId: 'test', now }
    const mutations = Object.values(makeAdminSchema().getMutationType()?.getFields() ?? {})
    const named = mutations.filter(({ args }) =>
      args.flatMap(fieldsOfInput).some(({ name }) => name === 'id'),
    )
    expect(named).to.have.length.above(30)
    for (const { name: operation } of named) {
      const [, id] = Object.entries(ids).find(([noun]) => operation.endsWith(noun)) ?? []
      expect(id, operation).to.be.a('string')
      const change = { operation, arguments: { id }, isDestructive: true }
      const asked = demandApproval(service.stores.database, caller, change, 'https://id.example')
      expect(await asked.catch(({ code }) => code), operation).to.equal('APPROVAL_REQUIRED')
    }
  })

  it('are needed to restore a cancelled registration, but not to register a person anew', async () => {
    const { url, kysely } = begun()
    const token = await operatorToken(url, 'events:write')
    const values = { eventId: 'evt_dawn_walk', personId: 'per_noor' }
    const register = async () => await readTool(url, 'register_for_event', { token, values })
    const { id } = await register()
    const cancelledAt = async () => (await rowOf(kysely, 'event_registration', { id })).cancelled_at
    await setBack(kysely, 'event_registration', { id }, { cancelled_at: 1 })
    expect(await problemOf(url, 'register_for_event', { token, values })).to.include(linked)
    expect(await cancelledAt()).to.equal(1)
    expect(await decide('approve')).to.include('Dawn Walk')
    await register()
    expect(await cancelledAt()).to.equal(null)
    expect(await refused('cancel_registration', { id }, token)).to.include(linked)
    // The page names the person and the event of the registration.
    expect(await decide('reject')).to.match(/<bdi>Noor[^<]*, Dawn Walk[^<]*<\/bdi>/)
  })

  it('show times in RFC 3339, and the names of files', async () => {
    const { url } = begun()
    const token = await operatorToken(url, 'courses:write storage:write')
    await refused('publish_course', { at: '2030-01-01T00:00:00Z' }, token)
    const query = 'mutation { deleteFile(id: "fil_shot_list") { deletedId } }'
    await postJson(url + paths.adminGraphql, { query }, { token })
    const fileName = '<bdi>northlight-twelve-shot-list.pdf</bdi>'
    expectText(await decide('reject'), '2030-01-01T00:00:00.000Z', fileName)
  })

  it('are refused like their page if the operator loses the role in the meantime', async () => {
    const { kysely, person } = begun()
    await refused()
    const { id } = await rowOf(kysely, 'pending_change')
    const shown = await person.visit(page)
    const begin = kysely.transaction.bind(kysely)
    // The page reads the roles before the transaction of the change begins.
    kysely.transaction = () => {
      kysely.transaction = begin
      const transaction = begin()
      const execute = transaction.execute.bind(transaction)
      transaction.execute = async (work) => {
        await kysely.deleteFrom('site_role').where('person_id', '=', 'per_olivia').execute()
        return await execute(work)
      }
      return transaction
    }
    const answer = await person.send(shown, page, { change: id, decision: 'approve' })
    expectAnswer(answer, 403, 'owners and admins')
    expect((await rowOf(kysely, 'pending_change')).approved_at).to.equal(null)
  })

  it('of a change of roles need a recent sign-in, as its page does [475]', async () => {
    const { url, person, kysely } = begun()
    const token = await operatorToken(url, 'members:write')
    await person.visit(page)
    await setBack(kysely, 'browser_session', {}, { authenticated_at: Date.now() - 11 * 60_000 })
    const values = { id: 'per_noor', roles: ['STUDENT', 'ADMIN'] }
    await refused('set_member_roles', values, token)
    const { id: change, client_id: client } = await rowOf(kysely, 'pending_change')
    await refused('remove_member', { id: 'per_lena' }, token)
    const send = async () => await person.submit(page, { change, client, decision: 'approve' })
    // The person signs in again, and returns to the page instead of sending the form.
    const shown = await send()
    expectText(shown.text, change, 'nothing has been changed yet')
    expect(shown.path).to.equal(`${page}?client=${client}&change=${change}&done=repeat`)
    // The change that was not selected stays unticked.
    expect(shown.text.match(/ checked/g)).to.have.length(2)
    expect((await rowOf(kysely, 'pending_change')).approved_at).to.equal(null)
    expect((await send()).text).to.include('Approved. Tell')
  })

  it('are needed for a file, where every change needs one [476]', async () => {
    const { url, kysely } = begun()
    const token = await operatorToken(url, 'storage:write')
    await setPolicy('every')
    const send = async (sending: Partial<Sending> = {}) =>
      await sendFile({ url, token, name: 'fog.pdf', bytes: pdf, ...sending })
    expectAnswer(await send(), 403, linked)
    // Without an approval, the service responds before it has read the whole file.
    const halting = new ReadableStream({ start: (controller) => controller.enqueue(pdf) })
    expect((await send({ bytes: halting })).status).to.equal(403)
    expect((await send({ name: 'a\0.pdf' })).status).to.equal(400)
    expectText(await decide('approve'), 'Store a file', 'fog.pdf')
    // A file that is too large uses up no approval, even without a Content-Length.
    const large = new Blob([pdf, new Uint8Array(100_000)]).stream()
    expect((await send({ bytes: large })).status).to.equal(413)
    expect((await send()).status).to.equal(201)
    expect((await send()).status).to.equal(403)
    const waiting = await rowOf(kysely, 'pending_change')
    const numbers = Array.from({ length: 50 }, (_, number) => `${number}`)
    const copies = numbers.map((number) => ({ ...waiting, id: `pch_${number}`, digest: number }))
    await insert(kysely, 'pending_change', copies)
    const limited = await send()
    expect(refusalOf(limited)).to.equal('403 forbidden')
    expectText(limited.text, 'limit of 50 pending or approved', linked)
  })

  it('cannot be given by another operator, by the client, without the token of the page, or in a frame', async () => {
    const { url, token, kysely, person } = begun()
    await refused()
    const other = makePagePerson(url, amir)
    const seen = await other.visit(page)
    expect(seen.text).to.include('id="no-changes"').and.not.include(draft.title)
    const forged = { change: (await rowOf(kysely, 'pending_change')).id, decision: 'approve' }
    await other.post(page, { ...forged, csrf: hiddenField(seen.text) })
    await person.visit(page)
    expect((await person.post(page, forged)).status).to.equal(403)
    const asClient = await postForm(url + page, forged, bearer(token))
    expect(asClient.status).to.be.oneOf([303, 401, 403])
    await refused()
    expect(await publishedAt()).to.equal(null)
    const { headers } = await person.open(page)
    expect(headers.get('content-security-policy')).to.include("frame-ancestors 'none'")
    // Another client of the same person cannot use the approval.
    await person.submit(page, forged)
    await refused('publish_course', {}, await operatorToken(url, scope))
    await change('publish_course')
  })

  it('reach the person through a host that opens pages', async () => {
    const { url, token, id } = begun()
    const client = new Client({ name: 'new', version: '1' }, {
      capabilities: { elicitation: { url: {} } },
      versionNegotiation: { mode: 'auto' },
    } as never)
    const opened: string[] = []
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      opened.push((params as { url: string }).url)
      await decide('approve')
      return { action: 'accept' as const }
    })
    const requestInit = { headers: { authorization: `Bearer ${token}` } }
    const address = new URL(url + paths.mcpAdmin)
    await client.connect(new StreamableHTTPClientTransport(address, { requestInit }))
    const done = await client.callTool({ name: 'publish_course', arguments: { id } })
    expect(opened.map((each) => each.split('?')[0])).to.deep.equal([url + linked])
    expect(done.isError ?? false).to.equal(false)
    expect(await publishedAt()).to.not.equal(null)
    await client.close()
  })
})
