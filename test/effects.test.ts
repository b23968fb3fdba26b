import { expect } from 'chai'

import { introspect, refresh, userinfo } from './support/client.ts'
import { olivia, type RunningService, sam, startService } from './support/gatehouse.ts'
import { makePagePerson, type PagePerson, type Seen, textOf } from './support/page-person.ts'
import { getTokens } from './support/relying-party.ts'

const applications = '/admin/northlight/applications'
const redirectUri = 'http://127.0.0.1:9/callback'
const entry = {
  name: 'Study Planner',
  redirect_uris: 'http://127.0.0.1/callback',
  auth_method: 'none',
  scope: ['account:read', 'account:write'],
}

/**
 * Each thing that ends what a client may do, done in one process and looked at in another that
 * shares its storage (design 12 and 15).
 */
const effects: Record<string, (world: World) => Promise<unknown>> = {
  'deleting the application': async ({ operator, application }) =>
    await confirm(operator, `${application}/delete`),
  'disabling the application': async ({ operator, application }) =>
    await confirm(operator, `${application}/disable`),
  'narrowing the scopes of the application': async ({ operator, application }) => {
    const form = await operator.visit(`${application}/edit`)
    await operator.send(form, form.path, { ...entry, scope: 'account:read' })
  },
  'switching MCP connections off': async ({ operator }) =>
    await confirm(operator, '/admin/northlight/beta/off'),
  'ending all access by the application': async ({ operator, application }) =>
    await confirm(operator, `${application}/people/end-all`),
  'ending the access to the account of this person': async ({ operator, application }) =>
    await confirm(operator, `${application}/people/per_sam/end`),
  'removing the application under Connected apps': async ({ member, clientId }) => {
    const query = new URLSearchParams({ client: clientId, site: 'sit_northlight' })
    const asked = await member.visit(`/account/apps/remove?${query}`)
    await member.send(asked, '/account/apps/remove')
  },
  "removing the person's last role at the site": async ({ service }) =>
    await service.service.stores.database.kysely
      .deleteFrom('site_role')
      .where('person_id', '=', 'per_sam')
      .execute(),
  'disabling the account': async ({ service }) =>
    await service.service.stores.database.kysely
      .updateTable('person')
      .set({ disabled_at: Date.now() })
      .where('id', '=', 'per_sam')
      .execute(),
}

// [71]
describe('what ends the tokens of a client, at the next use and in every process', () => {
  for (const [what, effect] of Object.entries(effects)) {
    it(`${what}: UserInfo 401, introspection inactive, refresh invalid_grant`, async () => {
      await using world = await makeWorld()
      const { other, clientId, tokens } = world
      expect(await lookAt(other, clientId, tokens)).to.include({ userinfo: 200, active: true })

      await effect(world)

      for (const url of [other, world.service.url]) {
        expect(await lookAt(url, clientId, tokens)).to.deep.equal({
          userinfo: 401,
          active: false,
          refresh: 'invalid_grant',
        })
      }
    })
  }

  it('a grant that ended in the database alone is over everywhere, and is not brought back', async () => {
    await using world = await makeWorld()
    const { service, clientId, tokens, browser, start } = world
    await service.service.stores.database.kysely
      .updateTable('oauth_grant')
      .set({ ended_at: 1, end_reason: 'an operator ended it' })
      .where('client_id', '=', clientId)
      .execute()
    // The browser session still remembers the grant, and the state store still has it.
    const shown = await browser.open(start)
    expect(shown.headers.get('location')).to.match(/\/consent$/)
    await browser.authorize(start, redirectUri)
    expect(await lookAt(world.other, clientId, tokens)).to.deep.equal({
      userinfo: 401,
      active: false,
      refresh: 'invalid_grant',
    })
  })

  it('a code that was not redeemed yet ends too', async () => {
    await using world = await makeWorld()
    const { signIn } = await import('./support/relying-party.ts')
    const { exchange } = await signIn(world.service.url, { clientId: world.clientId, redirectUri })
    await confirm(world.operator, `${world.application}/people/end-all`)
    const error = await exchange().catch((reason: unknown) => reason)
    expect(error).to.have.property('error', 'invalid_grant')
  })

  it('narrowing leaves grants alone that hold nothing of what was taken away', async () => {
    await using world = await makeWorld({ scope: 'openid account:read' })
    const form = await world.operator.visit(`${world.application}/edit`)
    await world.operator.send(form, form.path, { ...entry, scope: 'account:read' })
    expect(await lookAt(world.other, world.clientId, world.tokens)).to.include({
      userinfo: 200,
      active: true,
    })
  })

  it('enabling a disabled application lets its tokens work again', async () => {
    await using world = await makeWorld()
    const page = await confirm(world.operator, `${world.application}/disable`)
    await world.operator.send(page, `${world.application}/enable`)
    expect(await lookAt(world.other, world.clientId, world.tokens)).to.include({
      userinfo: 200,
      active: true,
    })
  })

  it('a disabled application, or one of a site without MCP connections, may not ask again', async () => {
    await using world = await makeWorld()
    await confirm(world.operator, `${world.application}/disable`)
    const error = await getTokens(world.service.url, {
      clientId: world.clientId,
      redirectUri,
    }).catch((reason: unknown) => reason)
    expect(error).to.have.property('error', 'unauthorized_client')
  })
})

interface World extends AsyncDisposable {
  readonly service: RunningService
  /** The address of a second process's worth of service on the same storage. */
  readonly other: string
  readonly operator: PagePerson
  readonly member: PagePerson
  readonly clientId: string
  /** The path of the application's page. */
  readonly application: string
  readonly tokens: Tokens
  /** The browser in which the member connected the application, and with which request. */
  readonly browser: Awaited<ReturnType<typeof getTokens>>['person']
  readonly start: URL
}

interface Tokens {
  readonly access_token: string
  readonly refresh_token?: string
}

async function makeWorld({ scope = 'openid account:read account:write' } = {}): Promise<World> {
  await using opening = new AsyncDisposableStack()
  const service = opening.use(await startService())
  const { dataDir, baseUrl } = service.config
  const second = opening.use(
    await startService({ environment: { DATA_DIR: dataDir, BASE_URL: baseUrl } }),
  )
  const operator = makePagePerson(service.url, olivia)
  const form = await operator.visit(`${applications}/new`)
  const clientId = textOf(await operator.send(form, applications, entry), 'client-id')
  const granted = await getTokens(service.url, { clientId, redirectUri, scope })
  const { tokens, person: browser, start } = granted
  const open = opening.move()
  return {
    service,
    other: `http://127.0.0.1:${second.config.port}`,
    operator,
    member: makePagePerson(service.url, sam),
    clientId,
    application: `${applications}/${clientId}`,
    tokens,
    browser,
    start,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** Reads the page that asks once, and answers it. */
async function confirm(operator: PagePerson, path: string): Promise<Seen> {
  const asked = await operator.visit(path)
  expect(asked.text).to.include('id="confirm"')
  const done = await operator.send(asked, path)
  expect(done.status).to.equal(200)
  return done
}

/** What becomes of the tokens at one process. The refresh token is tried last, since it is used up. */
async function lookAt(url: string, clientId: string, tokens: Tokens) {
  const claims = await userinfo(url, tokens.access_token)
  const { active } = (await introspect(url, tokens.access_token)).body
  if (claims.status === 200) return { userinfo: claims.status, active }
  const refreshed = await refresh(url, tokens.refresh_token ?? '', { client_id: clientId })
  return { userinfo: claims.status, active, refresh: refreshed.body.error }
}
