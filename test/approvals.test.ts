import * as v2 from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

import { paths } from '../src/platform/http/paths.ts'
import { needsApproval } from '../src/school/changes/approvals.ts'
import { rowsOf } from './support/database.ts'
import { amir, olivia, type RunningService } from './support/gatehouse.ts'
import { operatorToken, problemOf, readTool } from './support/mcp.ts'
import { hiddenField, makePagePerson } from './support/page-person.ts'
import { forEachDatabase } from './support/storages.ts'
import { postJson } from './support/wire.ts'

const scope = 'courses:read courses:write curriculum:read curriculum:write'
const linked = '/admin/sit_northlight/approvals'
const page = '/admin/northlight/approvals'
const draft = { slug: 'fog', title: 'Photographing Fog', summary: 'Three grey mornings.' }
const MINUTE_MS = 60_000

describe('whether a change needs an approval (design 37)', () => {
  const rows = [
    // covers, integrations exempt, origin, destructive: the decision
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
  ] as const
  for (const [covers, exemptsIntegrations, origin, isDestructive, expected] of rows) {
    it(`${covers}, ${origin}, ${isDestructive ? 'destructive' : 'harmless'}: ${expected}`, () => {
      expect(needsApproval({ covers, exemptsIntegrations }, origin, isDestructive)).to.equal(
        expected,
      )
    })
  }
})

forEachDatabase('approvals of changes', (start) => {
  async function begin() {
    const clock = { ms: Date.now() }
    const running = await start({ demandsApprovals: true, now: () => clock.ms })
    const { url } = running
    const token = await operatorToken(url, scope)
    const { id: courseId } = await readTool(url, 'create_course', { token, values: draft })
    const person = makePagePerson(url, olivia)
    const decide = async (decision: string, visitor = person) => {
      const shown = await visitor.visit(page)
      const changes = [...shown.text.matchAll(/name="change" value="([^"]*)"/g)].map(
        ([, id = '']) => id,
      )
      await visitor.send(shown, page, { change: changes, decision })
      return shown.text
    }
    return { ...{ running, url, token, courseId, person, decide, clock } }
  }
  const publish = (url: string, token: string, id: string) =>
    problemOf(url, 'publish_course', { token, values: { id } })
  const stateOf = async ({ kysely }: RunningService, id: string) =>
    (await rowsOf(kysely, 'course', { id }))[0]?.published_at ?? null

  it('publishes only after the person approved, once, and audits both', async () => {
    const { running, url, token, courseId, decide } = await begin()
    await using _ = running
    const said = await publish(url, token, courseId)
    expect(said).to.include(`${url}${linked}?client=loopback_`).and.include('ten minutes')
    expect(await stateOf(running, courseId)).to.equal(null)
    await publish(url, token, courseId)
    const text = await decide('approve')
    expect(text)
      .to.include('Publish the course')
      .and.include(draft.title)
      .and.include('Operator tools')
    expect(text.match(/name="change"/g)).to.have.length(1)
    await readTool(url, 'publish_course', { token, values: { id: courseId } })
    expect(await stateOf(running, courseId)).to.not.equal(null)
    // Replayed: the approval is used up.
    await publish(url, token, courseId)
    const [event] = await rowsOf(running.kysely, 'audit_event', { action: 'change.approve' })
    expect([event?.actor_person_id, event?.site_id]).to.deep.equal(['per_olivia', 'sit_northlight'])
  })

  it('covers these arguments only, for ten minutes, and nothing that was rejected', async () => {
    const { running, url, token, courseId, decide, clock } = await begin()
    await using _ = running
    await publish(url, token, courseId)
    await decide('approve')
    await publish(url, token, 'crs_slow_bread')
    const later = { id: courseId, at: '2030-01-01T00:00:00Z' }
    await problemOf(url, 'publish_course', { token, values: later })
    clock.ms += 10 * MINUTE_MS + 1
    await publish(url, token, courseId)
    await decide('reject')
    await publish(url, token, courseId)
    expect(await stateOf(running, courseId)).to.equal(null)
  })

  it('is needed at /admin/graphql too, for each change of a document', async () => {
    const { running, url, token, courseId } = await begin()
    await using _ = running
    const query = `mutation { one: archiveCourse(id: "${courseId}") { id } two: publishCourse(id: "${courseId}") { id } }`
    const { body } = await postJson(url + paths.adminGraphql, { query }, { token })
    expect(body.data).to.deep.equal({ one: null, two: null })
    for (const { extensions } of body.errors) {
      expect(extensions.code).to.equal('APPROVAL_REQUIRED')
      expect(extensions.approvalUrl).to.include(linked)
    }
  })

  it('lists several changes for one decision, and lets an owner change what needs one', async () => {
    const { running, url, token, courseId, person, decide } = await begin()
    await using _ = running
    await publish(url, token, courseId)
    await problemOf(url, 'archive_course', { token, values: { id: courseId } })
    expect((await decide('approve')).match(/name="change"/g)).to.have.length(2)
    await readTool(url, 'publish_course', { token, values: { id: courseId } })
    await readTool(url, 'archive_course', { token, values: { id: courseId } })
    const shown = await person.visit(page)
    await person.send(shown, `${page}/policy`, { covers: 'every' })
    const change = { token, values: { id: courseId, title: 'Fog' } }
    expect(await problemOf(url, 'update_course', change)).to.include(linked)
    await person.send(await person.visit(page), `${page}/policy`, { covers: 'never' })
    await readTool(url, 'restore_course', { token, values: { id: courseId } })
    await readTool(url, 'unpublish_course', { token, values: { id: courseId } })
  })

  it('cannot be given by another operator, by the client, without the token of the page, or in a frame', async () => {
    const { running, url, token, courseId, person } = await begin()
    await using _ = running
    await publish(url, token, courseId)
    const [pending] = await rowsOf(running.kysely, 'pending_change', {})
    const other = makePagePerson(url, amir)
    const seen = await other.visit(page)
    expect(seen.text).to.include('id="no-changes"').and.not.include(draft.title)
    const forged = { change: pending?.id ?? '', decision: 'approve' }
    await other.post(page, { ...forged, csrf: hiddenField(seen.text) })
    await person.visit(page)
    expect((await person.post(page, forged)).status).to.equal(403)
    const asClient = { method: 'POST', headers: { authorization: `Bearer ${token}` } }
    const sent = await fetch(url + page, {
      ...asClient,
      body: new URLSearchParams(forged),
      redirect: 'manual',
    })
    expect(sent.status).to.be.oneOf([303, 401, 403])
    await publish(url, token, courseId)
    expect(await stateOf(running, courseId)).to.equal(null)
    const { headers } = await person.open(page)
    expect(headers.get('content-security-policy')).to.include("frame-ancestors 'none'")
    // Another client of the same person has no use of the approval.
    await person.send(await person.visit(page), page, forged)
    await publish(url, await operatorToken(url, scope), courseId)
    await readTool(url, 'publish_course', { token, values: { id: courseId } })
  })

  it('reach the person through a host that opens pages, and through one that shows text', async () => {
    const { running, url, token, courseId, decide } = await begin()
    await using _ = running
    const requestInit = { headers: { authorization: `Bearer ${token}` } }
    const address = new URL(url + paths.mcpAdmin)
    const call = { name: 'publish_course', arguments: { id: courseId } }
    const old = new Client({ name: 'old', version: '1' })
    await old.connect(new StreamableHTTPClientTransport(address, { requestInit }) as never)
    const answer = await old.callTool(call)
    expect(answer.isError).to.equal(true)
    expect(JSON.stringify(answer.content)).to.include(linked)
    await old.close()
    const capabilities = { elicitation: { url: {} } }
    const client = new v2.Client({ name: 'new', version: '1' }, {
      capabilities,
      versionNegotiation: { mode: 'auto' },
    } as never)
    const opened: string[] = []
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      opened.push((params as { url: string }).url)
      await decide('approve')
      return { action: 'accept' as const }
    })
    await client.connect(new v2.StreamableHTTPClientTransport(address, { requestInit }))
    const done = await client.callTool(call)
    expect(opened.map((each) => each.split('?')[0])).to.deep.equal([url + linked])
    expect(done.isError ?? false).to.equal(false)
    expect(await stateOf(running, courseId)).to.not.equal(null)
    await client.close()
  })
})
