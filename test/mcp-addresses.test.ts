import { scopesOfAdminApi } from '../src/api/admin-api/schema-text.ts'
import { changeableAreas } from '../src/api/mcp/sign-in-tool.ts'
import { toolAddresses } from '../src/api/mcp/tool-access.ts'
import { findScope, MEMBER_READ, MEMBER_WRITE } from '../src/directory/scopes/catalogue.ts'
import { makeScopeUses } from '../src/directory/scopes/scope-uses.ts'
import { changePaths, pathForChanges, paths } from '../src/platform/http/paths.ts'
import { editList } from './support/database.ts'
import { notes, olivia } from './support/gatehouse.ts'
import {
  callTool,
  operatorToken,
  problemOf,
  readTool,
  send,
  toolNames,
  toolScopes,
} from './support/mcp.ts'
import { memberToken, readOnly } from './support/member-api.ts'
import { getTokens } from './support/relying-party.ts'
import { sharedService } from './support/storages.ts'
import { type Answer, get } from './support/wire.ts'

const [, forMembers, forOperators] = toolAddresses
const forChanges = { path: pathForChanges(['courses', 'students']) }
const memberScopes = `${MEMBER_READ} ${MEMBER_WRITE}`

const readingScopes = toolScopes.filter((name) => findScope(name)?.access === 'read')

function parameterOf({ headers }: Answer, name: string): string | undefined {
  return new RegExp(`${name}="([^"]*)"`).exec(headers.get('www-authenticate') ?? '')?.[1]
}

function expectForbidden(answer: Answer, scope: string | undefined, advice = ''): void {
  expect([answer.status, parameterOf(answer, 'scope')]).to.deep.equal([403, scope])
  expect(answer.body.error_description).to.include(advice)
  expect(parameterOf(answer, 'error_description')).to.include(advice)
}

/** Expects advice for the model instead of a challenge, because no authorization could help the client. */
function expectRemedy({ status, headers, body }: Answer, advice: string): void {
  expect([status, headers.has('www-authenticate')]).to.deep.equal([200, false])
  expect(body.result).to.deep.include({ isError: true })
  expect(body.result.content[0].text).to.include(advice)
}

describe('the addresses of the tools that need a token', () => {
  const running = sharedService()

  it('answer with a trailing slash as without it, with the same challenge (decision 3)', async () => {
    const { url } = running()
    const token = await memberToken(url)
    const metadataAt = async (path: string) => {
      const refused = await callTool(url, 'sign_in', { path, values: { as: 'member' } })
      return parameterOf(refused, 'resource_metadata')
    }
    for (const { path } of toolAddresses) {
      for (const slashed of [`${path}/`, `${path}/?x=1`]) {
        const [one, other] = [await metadataAt(path), await metadataAt(slashed)]
        expect(other).to.be.a('string').and.to.equal(one)
      }
      const metadata = `${url}${paths.protectedResource}${path}`
      expect((await get(`${metadata}/`)).body).to.deep.equal((await get(metadata)).body)
    }
    expect(await toolNames(url, token, { path: `${paths.mcpMember}/` })).to.include('get_viewer')
  })

  for (const [{ path }, scopes] of [
    [forMembers, [MEMBER_READ, MEMBER_WRITE]],
    [forOperators, readingScopes],
    [forChanges, [...readingScopes, 'courses:write', 'students:write']],
  ] as const) {
    // [RFC 9728 §3; MCP Authorization §Protected Resource Metadata Discovery Requirements]
    it(`${path} answers 401 without a token, and names its scopes in challenge and metadata [design 23] [RFC 9728 §3.3]`, async () => {
      const { url } = running()
      for (const method of ['GET', 'HEAD', 'DELETE', 'POST']) {
        const { status, headers } = await fetch(url + path, { method })
        expect(status, method).to.equal(401)
        expect(headers.get('www-authenticate')).to.include('error="invalid_token"')
      }
      for (const asked of ['tools/list', 'ping', 'server/discover'])
        expect((await send(url, asked, { path })).status, asked).to.equal(401)
      expect((await callTool(url, 'get_service_info', { path })).status).to.equal(401)
      const answer = await send(url, 'initialize', { path })
      expect(answer.status).to.equal(401)
      const address = parameterOf(answer, 'resource_metadata') ?? ''
      expect(address).to.equal(`${url}/.well-known/oauth-protected-resource${path}`)
      const metadata = (await get(address)).body
      expect(metadata).to.deep.include({ resource: url + path, scopes_supported: scopes })
      expect(parameterOf(answer, 'scope')).to.equal(scopes.join(' '))
    })

    // [MCP Authorization §Canonical Server URI]
    it(`${path} is a resource whose tokens are bound to the origin [RFC 8707 §2]`, async () => {
      const { url } = running()
      const { tokens } = await getTokens(url, { scope: readOnly, resource: url + path })
      const viewer = await readTool(url, 'get_viewer', { token: tokens.access_token })
      expect(viewer.id).to.equal('per_sam')
    })
  }

  it('list the tools of their audience and the public ones, and refuse a token without a scope for them at the first request', async () => {
    const { url } = running()
    const [open, member] = [await toolNames(url), await memberToken(url)]
    const operator = await operatorToken(url, readingScopes.join(' '))
    for (const [path, token, own] of [
      [paths.mcpMember, member, 'get_viewer'],
      [paths.mcpAdmin, operator, 'list_site_courses'],
    ] as const) {
      const names = await toolNames(url, token, { path })
      expect(names).to.deep.equal(await toolNames(url, token))
      expect(names).to.include.members([...open, own])
    }
    const connect = async (path: string, token: string) => send(url, 'initialize', { path, token })
    expectForbidden(await connect(paths.mcpMember, operator), undefined, `${url}/connect`)
    expectForbidden(await connect(paths.mcpAdmin, member), undefined, `${url}/mcp/admin`)
    const { tokens } = await getTokens(url, { scope: 'openid profile', resource: url })
    const stepUp = await connect(paths.mcpMember, tokens.access_token)
    expectForbidden(stepUp, `openid profile ${memberScopes}`)
  })

  it('redirect a browser to the page that explains them', async () => {
    for (const { path } of toolAddresses) {
      const ask = async (accept: string) =>
        await fetch(running().url + path, { headers: { accept }, redirect: 'manual' })
      const browser = await ask('text/html,application/xhtml+xml,*/*;q=0.8')
      expect([browser.status, browser.headers.get('location')]).to.deep.equal([303, '/connect'])
      for (const accept of ['*/*', 'text/event-stream', 'application/json, text/event-stream'])
        expect((await ask(accept)).status, accept).to.equal(path === paths.mcp ? 405 : 401)
    }
  })

  it('open the reads and the writes of the areas that they name, which one consent grants (design 38)', async () => {
    const { url } = running()
    const { path } = forChanges
    const scope = [...readingScopes, 'courses:write', 'students:write'].join(' ')
    const token = await operatorToken(url, scope, olivia, url + path)
    const names = await toolNames(url, token, { path })
    expect(names).to.include.members(['create_course', 'enrol_student', 'list_site_posts'])
    expect(names).to.not.include('create_post')
  })

  it('explain areas that are unknown, unsorted or repeated (design 38)', async () => {
    for (const [text, advice] of [
      ['orders', 'areas from this list, separated by dots: appearance, courses'],
      ['students.courses', 'courses.students'],
      ['courses.courses', 'courses'],
    ] as const) {
      for (const at of [changePaths.mcp, changePaths.protectedResource]) {
        const method = at === changePaths.mcp ? 'POST' : 'GET'
        const answer = await fetch(running().url + at.replace(':areas', text), { method })
        expect(answer.status, text).to.equal(404)
        expect(((await answer.json()) as Answer['body']).error_description).to.include(advice)
      }
    }
  })

  it('can name exactly the areas that have tools (design 38)', () => {
    const admin = { address: paths.adminGraphql, scopes: scopesOfAdminApi() }
    expect(makeScopeUses(() => [admin]).changeableAreas()).to.deep.equal([...changeableAreas])
  })
})

describe('challenges name scopes that this client can get', () => {
  const running = sharedService()

  it('for an application without the scope: none, and who can add it', async () => {
    const { url, kysely } = running()
    const token = await memberToken(url, readOnly)
    const edit = async (change: (scopes: string[]) => string[]) =>
      await editList(kysely, notes.clientId, 'scopes', change)
    await edit((scopes) => scopes.filter((scope) => scope !== MEMBER_WRITE))
    const refused = await callTool(url, 'mark_all_notifications_read', { token })
    await edit((scopes) => [...scopes, MEMBER_WRITE])
    expectRemedy(refused, 'an operator of the site can add the required scopes to this application')
  })

  it('for sign_in: those of the chosen role, or the next step for a sufficient token', async () => {
    const { url } = running()
    const scopeFor = async (values: Record<string, unknown>, token?: string) =>
      parameterOf(await callTool(url, 'sign_in', { values, token }), 'scope')
    const { tokens } = await getTokens(url, { scope: 'openid', resource: url })
    const registered = await operatorToken(url, 'openid')
    const reading = readingScopes.join(' ')
    for (const [values, token, scope] of [
      [{}, undefined, 'openid profile email'],
      [{ as: 'member' }, undefined, memberScopes],
      [{ as: 'operator' }, undefined, reading],
      [{ as: 'operator', change: ['posts'] }, undefined, `${reading} posts:write`],
      [{ as: 'member' }, tokens.access_token, `openid ${memberScopes}`],
      [{ as: 'operator' }, registered, `openid ${reading}`],
    ] as const)
      expect(await scopeFor(values, token)).to.equal(scope)
    const refused = await callTool(url, 'sign_in', { values: { as: 'member' }, token: registered })
    expectRemedy(refused, `${url}/connect`)
    const { nextStep } = await readTool(url, 'sign_in', { token: tokens.access_token })
    expect(nextStep).to.include('as: "member"').and.include('as: "operator"')
  })

  it('and sign_in leads an operator from reading to changing several areas at once', async () => {
    const { url } = running()
    const path = paths.mcpAdmin
    const token = await operatorToken(url, 'courses:read')
    expect(await toolNames(url, token, { path })).to.not.include('create_course')
    expect((await readTool(url, 'sign_in', { token })).nextStep).to.include('change')
    const values = { as: 'operator', change: ['students', 'courses'] }
    const refused = await callTool(url, 'sign_in', { values, token, path })
    const scopes = new Set([...readingScopes, 'courses:write', 'students:write'])
    const scope = toolScopes.filter((name) => scopes.has(name))
    expectForbidden(refused, `openid ${scope.join(' ')}`)
    const more = await operatorToken(url, scope.join(' '))
    await readTool(url, 'sign_in', { values, token: more })
    const names = await toolNames(url, more, { path })
    expect(names).to.include.members(['create_course', 'enrol_student'])
    const clientInfo = { name: 't', version: '1' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    const { body } = await send(url, 'initialize', { token: more, path, params })
    expect(body.result.instructions).to.include('posts').and.not.include('change courses,')
  })

  it('and wrong arguments are refused before the sign-in; null counts as omitted', async () => {
    const { url } = running()
    const wrong = [{ as: 'root' }, { change: ['nothing'] }, { change: 'posts' }]
    for (const values of [...wrong, { as: 'member', change: ['posts'] }]) {
      const said = await problemOf(url, 'sign_in', { values })
      expect(said, JSON.stringify(values)).to.match(/as|change/)
    }
    const answer = await callTool(url, 'sign_in', { values: { as: null, change: null } })
    expect(answer.status).to.equal(401)
    const values = { first: null, after: null, sort: null, access: null }
    await readTool(url, 'list_enrolled_courses', { values, token: await memberToken(url) })
  })
})
