import { readScope, writeScope } from '../src/directory/scopes/catalogue.ts'
import { paths } from '../src/platform/http/paths.ts'
import { change, insert } from './support/database.ts'
import { operatorToken, problemOf, readTool, send } from './support/mcp.ts'
import { memberToken } from './support/member-api.ts'
import { forEachStorage, sharedService } from './support/storages.ts'

forEachStorage('an agent without any knowledge', (start) => {
  const running = sharedService({}, start)
  const read = async (name: string, values: Record<string, unknown> = {}, token?: string) =>
    await readTool(running().url, name, { values, token })
  const slugs = (nodes: { slug: string }[]) => nodes.map(({ slug }) => slug)

  it('finds the sites and their published courses', async () => {
    const sites = await read('list_sites')
    expect(slugs(sites.nodes)).to.deep.equal(['northlight', 'open-kitchen'])
    for (const { slug: site, courseCount, connect } of sites.nodes) {
      const { nodes, totalCount } = await read('list_public_courses', { site })
      expect([totalCount, connect]).to.deep.equal([courseCount, `${running().url}/connect/${site}`])
      for (const { slug } of nodes) await read('get_public_course', { site, slug })
    }
  })

  it('searches sites by a part of name or slug, ignoring case, without wildcards', async () => {
    for (const [search, ...found] of [
      ...[['ACADEMY', 'northlight'], ['open-k', 'open-kitchen'], ['%'], ['_'], ["'"]],
      ['nothing like it'],
    ] as const)
      expect(slugs((await read('list_sites', { search })).nodes), search).to.deep.equal(found)
  })

  it('lists no site that published nothing, or only what is archived now [215]', async () => {
    const { kysely } = running()
    const site = { id: 'sit_new', slug: 'brand-new', name: 'Brand New', created_at: 1 }
    await insert(kysely, 'site', site)
    const course = { id: 'crs_new', site_id: site.id, slug: 'c', title: 'C', summary: '' }
    const listed = async () => slugs((await read('list_sites')).nodes)
    const usual = ['northlight', 'open-kitchen']
    expect(await listed()).to.deep.equal(usual)
    await insert(kysely, 'course', { ...course, published_at: 1, created_at: 1 })
    expect(await listed()).to.deep.equal(['brand-new', ...usual])
    await change(kysely, 'course', { id: course.id }, { archived_at: 2 })
    expect(await listed()).to.deep.equal(usual)
  })

  it('searches the courses of a site by words of title and summary', async () => {
    const site = 'northlight'
    const all = await read('list_public_courses', { site })
    const found = await read('list_public_courses', { site, search: 'LIGHT' })
    expect(found.totalCount).to.be.within(1, all.totalCount - 1)
  })

  it('may omit the site when it has a token', async () => {
    const token = await memberToken(running().url)
    const mine = await read('list_public_courses', {}, token)
    const named = await read('list_public_courses', { site: 'northlight' })
    expect(mine.nodes).to.deep.equal(named.nodes)
    await read('get_public_course', { slug: named.nodes[0].slug }, token)
    const there = await read('list_public_courses', { site: 'open-kitchen' }, token)
    expect(there.nodes).to.not.deep.equal(mine.nodes)
  })
})

describe('a refusal names the next step', () => {
  const running = sharedService()

  it('for wrong slugs, ids and arguments: the list, and the arguments that fit', async () => {
    const { url } = running()
    const nowhere = 'There is no site with the slug nowhere.'
    const listOfSite = 'list_public_courses with site: "northlight"'
    for (const [name, values, ...said] of [
      ['list_public_courses', {}, 'list_sites'],
      ['list_public_courses', { site: 'nowhere' }, nowhere, 'list_sites'],
      ['get_public_course', { site: 'nowhere', slug: 'x' }, nowhere, 'list_sites'],
      ['get_public_course', { site: 'northlight', slug: 'nothing' }, listOfSite],
      ['list_public_courses', { place: 'here' }, 'The tool takes site, search, first, after.'],
      ['get_service_info', { x: 1 }, 'The tool takes no arguments.'],
    ] as const) {
      const problem = await problemOf(url, name, { values })
      for (const words of said) expect(problem).to.include(words)
    }
    const asked = { values: { id: 'not_noor_01' }, token: await memberToken(url) }
    expect(await problemOf(url, 'mark_notification_read', asked)).to.equal(
      'id: there is no notification with this id. Call list_notifications to list valid values.',
    )
  })

  it('for an unknown tool: similar names, or the address that has it', async () => {
    const { url } = running()
    const member = await memberToken(url)
    const operator = await operatorToken(url, readScope('courses'))
    const writer = await operatorToken(url, writeScope('courses'))
    for (const [name, path, token, said] of [
      ['listCourses', paths.mcp, undefined, 'list_public_courses'],
      ['get-course', paths.mcp, undefined, 'get_public_course'],
      ['remove_lesson_course', paths.mcpAdmin, writer, 'archive_course'],
      ['zzz', paths.mcp, undefined, 'There is no tool with that name. Call tools/list for'],
      ['list_site_courses', paths.mcpMember, member, `Connect to ${url}${paths.mcpAdmin}`],
      ['get_viewer', paths.mcpAdmin, operator, `Connect to ${url}${paths.mcpMember}`],
    ] as const) {
      const sent = { params: { name, arguments: {} }, token, path }
      const { error } = (await send(url, 'tools/call', sent)).body
      expect(error.code).to.equal(-32_602)
      expect(error.message).to.include(said)
    }
  })
})
