import { expect } from 'chai'

import { readScope, scopeNames } from '../src/directory/scopes/catalogue.ts'
import { paths } from '../src/platform/http/paths.ts'
import { startService } from './support/gatehouse.ts'
import { callTool, operatorToken, problemOf, readTool, send } from './support/mcp.ts'
import { memberToken } from './support/member-api.ts'
import { sharedService } from './support/shared-service.ts'
import { forEachStorage } from './support/storages.ts'

interface Page<Node> {
  readonly nodes: readonly Node[]
  readonly totalCount: number
}

interface Site {
  readonly slug: string
  readonly name: string
  readonly courseCount: number
  readonly connect: string
}

type Courses = Page<{ readonly slug: string }>

forEachStorage('an agent that knows nothing', (start) => {
  it('finds the sites by their names, and the courses by words, from one list to the next', async () => {
    await using service = await start()
    const { url } = service
    const sites = await readTool<Page<Site>>(url, 'list_sites')
    expect(sites.nodes.map(({ slug }) => slug)).to.deep.equal(['northlight', 'open-kitchen'])
    for (const { slug: site, courseCount, connect } of sites.nodes) {
      const courses = await readTool<Courses>(url, 'list_public_courses', { values: { site } })
      expect(courses.totalCount).to.equal(courseCount)
      expect(connect).to.equal(`${url}/connect/${site}`)
      for (const { slug } of courses.nodes) {
        await readTool(url, 'get_public_course', { values: { site, slug } })
      }
    }
  })

  it('searches sites by a part of name or slug, in any case of letters, and takes signs for themselves', async () => {
    await using service = await start()
    const { url } = service
    const found = async (search: string) => {
      const { nodes } = await readTool<Page<Site>>(url, 'list_sites', { values: { search } })
      return nodes.map(({ slug }) => slug)
    }
    expect(await found('ACADEMY')).to.deep.equal(['northlight'])
    expect(await found('open-k')).to.deep.equal(['open-kitchen'])
    for (const search of ['%', '_', "'", 'nothing like it']) expect(await found(search)).to.be.empty
  })

  it('searches the courses of a site by words of title and summary, page by page', async () => {
    await using service = await start()
    const { url } = service
    const site = 'northlight'
    const all = await readTool<Courses>(url, 'list_public_courses', { values: { site } })
    const search = 'LIGHT'
    const whole = await readTool<Courses>(url, 'list_public_courses', { values: { site, search } })
    expect(whole.totalCount).to.be.within(1, all.totalCount - 1)
    const walked: unknown[] = []
    let after: string | undefined
    do {
      const values = { site, search, first: 1, ...(after && { after }) }
      const page = await readTool<Courses & { pageInfo: Cursor }>(url, 'list_public_courses', {
        values,
      })
      walked.push(...page.nodes)
      after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : undefined
    } while (after)
    expect(walked).to.deep.equal(whole.nodes)
  })

  it('that has a token needs not say which site', async () => {
    await using service = await start()
    const { url } = service
    const token = await memberToken(url)
    const mine = await readTool<Courses>(url, 'list_public_courses', { token })
    const named = await readTool<Courses>(url, 'list_public_courses', {
      values: { site: 'northlight' },
    })
    expect(mine.nodes).to.deep.equal(named.nodes)
    const { slug } = named.nodes[0] ?? { slug: '' }
    await readTool(url, 'get_public_course', { values: { slug }, token })
    const other = { site: 'open-kitchen' }
    const there = await readTool<Courses>(url, 'list_public_courses', { values: other, token })
    expect(there.nodes).to.not.deep.equal(mine.nodes)
  })
})

interface Cursor {
  readonly hasNextPage: boolean
  readonly endCursor: string
}

describe('every refusal says the next step', () => {
  const running = sharedService()

  it('and an unknown slug is never taken for a store that fails', async () => {
    const { url } = running()
    const said = async (name: string, values = {}) => await problemOf(url, name, { values })
    expect(await said('list_public_courses')).to.include('list_sites')
    expect(await said('list_public_courses', { site: 'nowhere' })).to.include('list_sites')
    expect(await said('get_public_course', { site: 'nowhere', slug: 'x' })).to.include('list_sites')
    const noCourse = await said('get_public_course', { site: 'northlight', slug: 'nothing' })
    expect(noCourse).to.include('list_public_courses with site: "northlight"')
    expect(await said('list_public_courses', { place: 'here' })).to.include(
      'It takes site, search, first, after.',
    )
    expect(await said('get_service_info', { x: 1 })).to.include('It takes no arguments.')
  })

  it('for what an operator names: the list, and the arguments that fit', async () => {
    const { url } = running()
    const token = await operatorToken(url, scopeNames('operator').join(' '))
    const said = async (name: string, values = {}) => await problemOf(url, name, { values, token })
    expect(await said('get_site_course', { slug: 'nothing' })).to.include('list_site_courses')
    expect(await said('publish_course', { id: 'nothing' })).to.include('list_site_courses')
    expect(await said('get_site_student', { id: 'nothing' })).to.include('list_site_students')
    expect(await said('publish_course', {})).to.include('It takes id (required), at.')
    expect(await said('publish_course', { id: 'x', when: 1 })).to.include('id (required), at.')
    expect(await said('list_site_courses', { first: 0 })).to.include('first')
  })

  it('for a tool that is not there: what is near, or the address that has it', async () => {
    const { url } = running()
    const message = async (name: string, path?: string, token?: string) => {
      const sent = { params: { name, arguments: {} }, token, ...(path && { path }) }
      const { body } = await send(url, 'tools/call', sent)
      expect(body.error.code).to.equal(-32_602)
      return body.error.message
    }
    expect(await message('listCourses')).to.include('list_public_courses')
    expect(await message('get-course')).to.include('get_public_course')
    expect(await message('zzz')).to.match(/^There is no tool of that name\. Call tools\/list for/)
    const member = await memberToken(url)
    expect(await message('list_site_courses', paths.mcpMember, member)).to.include(
      `Connect to ${url}${paths.mcpAdmin}`,
    )
    const operator = await operatorToken(url, readScope('courses'))
    expect(await message('get_viewer', paths.mcpAdmin, operator)).to.include(
      `Connect to ${url}${paths.mcpMember}`,
    )
  })
})

describe('a course that nobody published', () => {
  it('is found by no search, and counted at no site', async () => {
    await using service = await startService()
    const { url } = service
    const { kysely } = service.service.stores.database
    const search = 'reading'
    const site = 'northlight'
    const counted = async () => {
      const { nodes } = await readTool<Page<Site>>(url, 'list_sites', { values: { search: site } })
      return nodes[0]?.courseCount ?? 0
    }
    const before = await counted()
    await kysely
      .updateTable('course')
      .set({ published_at: null })
      .where('slug', '=', 'reading-light')
      .execute()
    const values = { site, search }
    const { body } = await callTool(url, 'list_public_courses', { values })
    expect(JSON.stringify(body)).to.not.include('reading-light')
    expect(await counted()).to.equal(before - 1)
  })
})
