import { expect } from 'chai'

import { resourceKinds } from '../src/api/mcp/resources.ts'
import { toolCatalogue } from '../src/api/mcp/tool-catalogue.ts'
import { MEMBER_READ, readScope } from '../src/directory/scopes/catalogue.ts'
import { paths } from '../src/platform/http/paths.ts'
import { marco } from './support/gatehouse.ts'
import { type Era, eras, operatorToken, readTool, send } from './support/mcp.ts'
import { memberToken, readOnly } from './support/member-api.ts'
import { forEachStorage } from './support/storages.ts'

interface Listed {
  readonly uri: string
  readonly name: string
  readonly title: string
  readonly mimeType: string
}

interface Asking {
  readonly token?: string
  readonly path?: string
  readonly era?: Era
}

/** Every resource that is listed, page after page. */
async function listAll(url: string, asking: Asking = {}): Promise<Listed[]> {
  const found: Listed[] = []
  let cursor: string | undefined
  do {
    const params = cursor === undefined ? {} : { cursor }
    const { body } = await send(url, 'resources/list', { ...asking, params })
    found.push(...body.result.resources)
    cursor = body.result.nextCursor
  } while (cursor !== undefined)
  return found
}

async function read(url: string, uri: string, asking: Asking = {}) {
  return await send(url, 'resources/read', { ...asking, params: { uri } })
}

const course = 'gatehouse://sites/northlight/courses/reading-light'

describe('the resources', () => {
  it('are listed by tools that are there and need no more than they do', () => {
    for (const { name, listedBy, access } of resourceKinds) {
      if (listedBy === undefined) continue
      const tool = toolCatalogue.find((each) => each.name === listedBy)
      expect(tool, name).to.not.equal(undefined)
      const needed = tool?.access.kind === 'scopes' ? tool.access.needed : []
      expect(access.kind === 'scopes' ? access.needed : [], name).to.include.members([...needed])
    }
  })
})

forEachStorage('resources at the tool endpoint', (start) => {
  it('are for everybody the guide and the courses that are published', async () => {
    await using service = await start()
    const { url } = service
    for (const era of eras) {
      expect((await listAll(url, { era })).map(({ uri }) => uri)).to.deep.equal([
        'gatehouse://guide',
      ])
      const { body: guide } = await read(url, 'gatehouse://guide', { era })
      expect(guide.result.contents[0]).to.include({ mimeType: 'text/markdown' })
      expect(guide.result.contents[0].text).to.equal(await readTool(url, 'get_auth_guide'))
      const { body: templates } = await send(url, 'resources/templates/list', { era })
      const [{ uriTemplate }, ...others] = templates.result.resourceTemplates
      expect(others).to.be.empty
      expect(uriTemplate).to.equal('gatehouse://sites/{site}/courses/{course}')
      const { body } = await read(url, course, { era })
      expect(JSON.parse(body.result.contents[0].text)).to.deep.equal(
        await readTool(url, 'get_public_course', {
          values: { site: 'northlight', slug: 'reading-light' },
        }),
      )
    }
  })

  it('are for a member what they bought, each with the same as the tool tells', async () => {
    await using service = await start()
    const { url } = service
    const token = await memberToken(url)
    const listed = await listAll(url, { token, path: paths.mcpMember })
    const bought = listed.filter(({ uri }) => uri.startsWith('gatehouse://me/'))
    const tools = [
      ...['list_enrolled_courses', 'list_digital_products'],
      ...['list_consulting_services', 'list_event_registrations'],
    ]
    const nodes: { id: string; title: string }[] = []
    for (const tool of tools) {
      const page = await readTool<{ nodes: typeof nodes }>(url, tool, {
        values: { first: 100 },
        token,
      })
      nodes.push(...page.nodes)
    }
    expect(bought.map(({ title }) => title)).to.deep.equal(nodes.map(({ title }) => title))
    for (const [index, { uri }] of bought.entries()) {
      const { body } = await read(url, uri, { token, path: paths.mcpMember })
      const told = JSON.parse(body.result.contents[0].text)
      // A link to a file is made anew each time.
      expect({ ...told, downloadUrl: '' }).to.deep.equal({ ...nodes[index], downloadUrl: '' })
    }
  })

  it('are for an operator the courses of their site, drafts included', async () => {
    await using service = await start()
    const { url } = service
    const scope = `${readScope('courses')} ${readScope('curriculum')}`
    const asking = { token: await operatorToken(url, scope), path: paths.mcpAdmin }
    const listed = await listAll(url, asking)
    const uris = listed.map(({ uri }) => uri)
    expect(uris).to.include('gatehouse://site/courses/reading-light')
    const { body } = await read(url, 'gatehouse://site/courses/reading-light', asking)
    expect(JSON.parse(body.result.contents[0].text)).to.have.property('sections')
  })

  it('are challenged like a tool: 401 without a token, 403 without the scope', async () => {
    await using service = await start()
    const { url } = service
    const uri = 'gatehouse://me/courses/whatever'
    for (const era of eras) {
      const anonymous = await read(url, uri, { era })
      expect(anonymous.status).to.equal(401)
      expect(anonymous.headers.get('www-authenticate')).to.include(`scope="${MEMBER_READ}"`)
      const token = await memberToken(url, 'openid')
      const lacking = await read(url, uri, { era, token })
      expect([lacking.status, lacking.body.error]).to.deep.equal([403, 'insufficient_scope'])
    }
  })

  it("are never another person's, and an unknown one says where URIs come from", async () => {
    await using service = await start()
    const { url } = service
    const mine = await listAll(url, { token: await memberToken(url) })
    const [own] = mine.filter(({ uri }) => uri.startsWith('gatehouse://me/courses/'))
    const other = await memberToken(url, readOnly, { person: marco })
    const foreign = await read(url, own?.uri ?? '', { token: other })
    const absent = await read(url, 'gatehouse://me/courses/nothing', { token: other })
    expect(foreign.body.error.message).to.equal(absent.body.error.message)
    expect(foreign.body.error.code).to.equal(-32_602)
    const odd = [
      'gatehouse://me/courses/a/b',
      'gatehouse://nothing',
      'file:///etc/passwd',
      `${course}?x`,
    ]
    for (const uri of [...odd, 'gatehouse://sites/../me/courses/x', '']) {
      const { status, body } = await read(url, uri)
      expect([status, body.error.code, body.error.data.uri]).to.deep.equal([200, -32_602, uri])
      expect(body.error.message).to.include('resources/list')
    }
    const missing = await read(url, 'gatehouse://sites/nowhere/courses/x')
    expect(missing.body.error.message).to.include('list_sites')
  })

  it('are listed page by page; a cursor from elsewhere is refused with a sentence', async () => {
    await using service = await start()
    const { url } = service
    const token = await memberToken(url)
    for (const cursor of ['', '99', '0 nonsense', 'x', '-1']) {
      const { body } = await send(url, 'resources/list', { token, params: { cursor } })
      expect(body.error.code, cursor).to.equal(-32_602)
      expect(body.error.message, cursor).to.include('nextCursor')
    }
  })
})
