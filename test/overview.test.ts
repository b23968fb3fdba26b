import { COUNT_DAYS, dayOf } from '../src/oauth/grants/grant-store.ts'
import { makeRefusedRequests } from '../src/pages/applications/refused-requests.ts'
import { pages } from '../src/platform/http/paths.ts'
import { countOverview, OVERVIEW_PERIODS } from '../src/school/analytics/overview.ts'
import { judgeRefusals } from '../views/admin-home.ts'
import { obtainTokens, refresh, userinfo } from './support/client.ts'
import { change, insert, remove, rowsOf, withDatabases } from './support/database.ts'
import { marco, noor, olivia, policyWith, sam } from './support/gatehouse.ts'
import { decode, linkOf, makePagePerson, matchesIn } from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import { sharedService } from './support/storages.ts'
import { expectAnswer } from './support/wire.ts'

const DAY_MS = 86_400_000
const nowMs = 20_000 * DAY_MS + DAY_MS / 2

withDatabases('the overview of thirty days', (open) => {
  it('has a number for each day in UTC, of this site only', async () => {
    await using database = await open()
    const person = (id: string) => ({ id, email: id, email_canonical: id, name: id, created_at: 0 })
    await insert(database.kysely, 'person', ['ada', 'bo', 'cy'].map(person))
    const site = (id: string) => ({ id, slug: id, name: id, created_at: 0 })
    await insert(database.kysely, 'site', ['north', 'south'].map(site))
    const granted = { granted_at: nowMs - 3 * DAY_MS, expires_at: nowMs + 90 * DAY_MS }
    const grant = (id: string, person_id: string, client_id: string, site_id: string) => ({
      ...{ id, person_id, client_id, site_id, client_name: client_id, ...granted },
      ...{ client_origin: 'site', allowed: '{}' },
    })
    const grants = [grant('g1', 'ada', 'one', 'north'), grant('g2', 'ada', 'two', 'north')]
    grants.push(grant('g3', 'bo', 'one', 'north'), grant('g4', 'cy', 'one', 'south'))
    await insert(database.kysely, 'oauth_grant', grants)
    const used = (grant_id: string, calls: number, day = dayOf(nowMs)) => ({ grant_id, calls, day })
    await insert(database.kysely, 'oauth_grant_day', [
      ...[used('g1', 2, dayOf(nowMs) - 3), used('g1', 1), used('g2', 4)],
      ...[used('g3', 8), used('g4', 100)],
    ])

    expect(OVERVIEW_PERIODS.at(-1)).to.equal(COUNT_DAYS)
    const { days, people, peopleByWeek } = await countOverview(database, 'north', nowMs)
    const dateOf = (ago: number) => new Date(nowMs - ago * DAY_MS).toISOString().slice(0, 10)
    const dates = Array.from({ length: 30 }, (_, index) => dateOf(29 - index))
    expect(days.map(({ date }) => date)).to.deep.equal(dates)
    const none = { signIns: 0, refusals: 0 }
    expect(days.slice(-4).map(({ date: _, ...numbers }) => numbers)).to.deep.equal([
      { ...none, connected: 3, people: 1, calls: 2 },
      { ...none, connected: 3, people: 0, calls: 0 },
      { ...none, connected: 3, people: 0, calls: 0 },
      { ...none, connected: 3, people: 2, calls: 13 },
    ])
    expect(days[0]).to.include({ connected: 0, people: 0, calls: 0 })
    const ofPeriod = async (count: number) => await countOverview(database, 'north', nowMs, count)
    const [week, quarter] = [await ofPeriod(7), await ofPeriod(90)]
    expect([week.days.length, week.people, quarter.days.length]).to.deep.equal([7, 2, 90])
    expect([people, peopleByWeek]).to.deep.equal([2, { last: 2, before: 0 }])
    const later = await countOverview(database, 'north', nowMs + 7 * DAY_MS)
    expect(later.peopleByWeek).to.deep.equal({ last: 0, before: 2 })
  })

  it('counts refusals of the applications of the site by day and reason, in one row each', async () => {
    await using database = await open()
    const { kysely } = database
    await insert(kysely, 'site', { id: 'north', slug: 'north', name: 'North', created_at: 0 })
    const applications = ['one', 'two'].map((id) => ({
      ...({ kind: 'site', site_id: 'north', auth_method: 'none' } as const),
      ...({ client_id: id, name: id, application_type: 'web', created_at: 0 } as const),
    }))
    await insert(kysely, 'oauth_application', applications)
    const refusals = makeRefusedRequests(database)
    const note = (clientId: string, error: string, count = 1, occurredAt = nowMs) => {
      const row = { route: 'token', reason: 'why\0', requestId: 'r', clientId, error, occurredAt }
      for (let noted = 0; noted < count; noted += 1) refusals.note(row)
    }
    note('one', 'invalid_grant', 500)
    note('two', 'invalid_grant', 7)
    note('one', 'invalid_client', 3, nowMs - DAY_MS)
    note('one', 'Error: of a stranger\0')
    note('nobody', 'invalid_grant', 9)
    await refusals.flush()
    note('two', 'invalid_grant', 2)
    await refusals.flush()
    expect(await rowsOf(kysely, 'site_refusal_day')).to.have.length(3)
    const { days, reasons } = await countOverview(database, 'north', nowMs)
    expect(days.slice(-2).map(({ refusals: count }) => count)).to.deep.equal([3, 510])
    expect(reasons).to.deep.equal([
      { error: 'invalid_grant', refusals: 509 },
      { error: 'invalid_client', refusals: 3 },
      { error: 'other', refusals: 1 },
    ])
  })
})

const eventRow = /<tr><th scope="row">/g

describe('the refusals of a week', () => {
  for (const [last, before, judged] of [
    [10, 5, 'rose'],
    [10, 6, 'usual'],
    [9, 0, 'usual'],
    [1, 0, 'usual'],
    [5, 5, undefined],
    [20, 40, undefined],
  ] as const)
    it(`are judged "${judged ?? 'no rise'}" if ${last} follow ${before}`, () => {
      expect(judgeRefusals(last, before)).to.equal(judged)
    })
})

describe('/admin/<site>/overview and /audit', () => {
  const service = sharedService({ policy: policyWith({ storage: { usageFlushSeconds: 1 } }) })
  const operator = makePagePerson(() => service().url, olivia)

  it('show the operator each figure as a chart with its numbers, and all of them as CSV', async () => {
    await userinfo(service().url, (await obtainTokens(service().url)).accessToken)
    await refresh(service().url, 'no-refresh-token')
    await eventually(20_000, async () => {
      const { kysely } = service()
      expect(await rowsOf(kysely, 'oauth_grant_day')).not.to.be.empty
      expect(await rowsOf(kysely, 'site_refusal_day')).not.to.be.empty
    })
    const overview = '/admin/northlight/overview'
    for (const [measure, days] of Object.entries({ connected: 7, people: 30, refusals: 90 })) {
      const page = await operator.visit(`${overview}?measure=${measure}&days=${days}`)
      expectAnswer(page, 200, 'aria-labelledby="chart-title chart-summary"', 'UTC')
      const { text } = page
      expect(text.match(/<th scope="row">\d{1,2} \w+ \d{4}<\/th>/g)).to.have.length(days)
      expect(text.includes('an expired or used code or token')).to.equal(measure === 'refusals')
      expect(text).not.to.include('<script')
    }
    for (const odd of ['?measure=x&days=9', '?days=7&days=30'])
      expect((await operator.visit(overview + odd)).status).to.equal(200)
    const lines = (await operator.visit(`${overview}/download?days=7`)).text.trim().split('\r\n')
    expect(lines).to.have.length(8)
    expect(lines[0]).to.equal('date,connected,people,calls,signIns,refusals')
    expect(lines.at(-1)).to.match(/^\d{4}-\d{2}-\d{2},1,1,1,1,1$/)
  })

  it('list the latest refusals of all applications and resource servers of the site', async () => {
    const { kysely } = service()
    const refusalOf = (client_id: string, at: number) => ({
      ...{ client_id, id: `x${at}`, occurred_at: 4e12 - at },
      ...{ route: 'token', error: 'invalid_client', reason: 'why', request_id: 'r-1' },
    })
    const clients = ['northlight-notes', 'northlight-portal', 'library', 'kitchen']
    const web = { auth_method: 'none', application_type: 'web', created_at: 0 } as const
    await insert(kysely, 'oauth_application', [
      {
        ...web,
        client_id: 'library',
        site_id: 'sit_northlight',
        name: 'L',
        kind: 'resource_server',
      },
      { ...web, client_id: 'kitchen', site_id: 'sit_open_kitchen', name: 'Kitchen', kind: 'site' },
    ])
    await insert(kysely, 'client_refusal', clients.map(refusalOf))
    const counted = { site_id: 'sit_northlight', error: 'invalid_target', refusals: 1 }
    await insert(kysely, 'site_refusal_day', { ...counted, day: Math.floor(Date.now() / DAY_MS) })
    const { text } = await operator.visit('/admin/northlight/overview?measure=refusals')
    const list = text.slice(text.indexOf('<caption class="hidden">Latest refusals'))
    const links = matchesIn(list, /<a href="\/admin\/northlight\/([^"]+)\/refusals">/g)
    expect(links.slice(0, 3)).to.deep.equal([
      'applications/northlight-notes',
      'applications/northlight-portal',
      'resource-servers/library',
    ])
    expect(list).not.to.include('Kitchen')
  })

  it('show nothing of another site', async () => {
    const other = makePagePerson(service().url, marco)
    const figures = await other.visit('/admin/open-kitchen/overview?days=7')
    expect(figures.text).to.include('id="no-figures"')
    expect((await other.visit('/admin/open-kitchen/audit')).text).not.to.include('northlight-notes')
    const query = 'client=northlight-notes&person=per_sam'
    const asked = await other.visit(`/admin/open-kitchen/audit?${query}`)
    expect(asked.text).to.include('No event matches these filters.')
  })

  it('filter the audit trail by action, application, person and day, also on the next page', async () => {
    for (let i = 0; i < 21; i += 1) await obtainTokens(service().url, { prompt: 'consent' })
    const address = '/admin/northlight/audit'
    const today = new Date().toISOString().slice(0, 10)
    const query = `action=consent.given&client=northlight-notes&person=${encodeURIComponent(sam.login.toUpperCase())}&from=${today}&to=${today}`
    const first = await eventually(20_000, async () => {
      const page = await operator.visit(`${address}?${query}`)
      expect(page.text.match(eventRow)).to.have.length(20)
      expect(page.text).to.include('id="next-page"')
      return page
    })
    const said = 'allowed the application to access the account <strong><bdi>Course Notes</bdi>'
    expect(first.text).to.include(said)
    expect(first.text).not.to.include('signed in to the application <strong>')
    for (const filter of ['client=northlight-portal', `person=${noor.login}`, 'to=2020-01-01']) {
      const { text } = await operator.visit(`${address}?action=consent.given&${filter}`)
      expect(text, filter).to.include('No event matches these filters.')
    }
    const next = linkOf(first, 'next-page')
    const second = await operator.visit(next)
    expect(second.text.match(eventRow)?.length).to.be.within(1, 4)
    expect(second.text).to.include('<option value="consent.given" selected>')
    // The page ignores a cursor that belongs to another filter.
    const cursor = new URLSearchParams(next.split('?')[1]).get('after')
    const foreign = await operator.visit(`${address}?action=sign_in.success&after=${cursor}`)
    expect(foreign.text).to.include('signed in to the application <strong><bdi>Course Notes')
    for (const wrong of ['action=nothing', 'from=yesterday', `person=${'x'.repeat(600)}`])
      expect((await operator.visit(`${address}?${wrong}`)).status).to.equal(200)
  })

  it('download the audit trail as CSV without formulas, and as NDJSON', async () => {
    await insert(service().kysely, 'audit_event', {
      ...{ id: 'evt_formula', occurred_at: Date.now(), action: 'course.update' },
      ...{ subject_kind: 'course', subject_id: 'crs_gone', site_id: 'sit_northlight' },
      ...{ before: '{"title":"Old"}', after: '{"title":"=1+1"}', reason: '@SUM(A1)' },
    })
    const address = '/admin/northlight/audit/download'
    const csv = await operator.visit(`${address}/csv?action=course.update`)
    expect(csv.text).to.match(/^time,actor,action,subject,account,reason/)
    expect(csv.text).to.include(",course.update,'=1+1,,'@SUM(A1),")
    expect(csv.text).to.include('title: Old -> =1+1')
    const ndjson = await operator.visit(`${address}/ndjson?action=course.update`)
    const [event] = ndjson.text.match(/.+/g)?.map((line) => JSON.parse(line)) ?? []
    expect(event).to.include({ action: 'course.update', subject: '=1+1' })
    expect((await operator.visit(`${address}/xls`)).status).to.equal(404)
  })

  it('and every other page of the site link to pages and forms that exist', async () => {
    const patterns = Object.values(pages).map((pattern) => pattern.replaceAll(/:\w+/g, '[^/]+'))
    const isKnown = (path: string) => patterns.some((each) => new RegExp(`^${each}$`).test(path))
    const found = new Set(['/admin/northlight'])
    // Iterating over a set also reaches the paths that the loop adds.
    for (const path of found) {
      const { status, text } = await operator.visit(path)
      expect(status, path).to.equal(200)
      for (const [, name, address = ''] of text.matchAll(/ (href|action)="([^"]*)"/g)) {
        const { pathname, search } = new URL(decode(address), service().url + path)
        if (!pathname.startsWith('/admin/northlight/')) continue
        expect(isKnown(pathname), `${pathname} on ${path}`).to.equal(true)
        // Only operators with a second factor can open the page at /two-factors.
        const isLeftOut = pathname.includes('/download') || pathname.endsWith('/two-factors')
        if (name === 'href' && !isLeftOut) found.add(pathname + search)
      }
    }
    expect(found.size).to.be.above(40)
  })

  it('start with a home page that shows the next steps, figures and what needs attention', async () => {
    const { kysely } = service()
    const owner = makePagePerson(service().url, marco)
    const home = async () => (await owner.visit('/admin/open-kitchen')).text
    const site_id = 'sit_open_kitchen'
    await remove(kysely, 'oauth_application', { site_id })
    const day = Math.floor(Date.now() / DAY_MS)
    const refused = { site_id, error: 'invalid_grant' }
    await insert(kysely, 'site_refusal_day', [
      { ...refused, day: day - 8, refusals: 1 },
      { ...refused, day: day - 1, refusals: 3 },
    ])
    const empty = await home()
    expect(empty).to.include('Add the first app').and.include('All good')
    const rose = 'Fewer than 10 a week, or less than double the week before, is normal.'
    expect(empty).to.include(`Refusals rose from 1 to 3. ${rose}`)
    const client_id = 'app_old'
    await insert(kysely, 'oauth_application', {
      ...{ client_id, site_id, name: 'Old <Books>', auth_method: 'client_secret_post' },
      ...{ kind: 'site', application_type: 'web', created_at: 0 },
    })
    const created_at = Date.now() - 366 * DAY_MS
    const secret = { id: 'sec_old', client_id, digest: 'd', hint: 'abcd', created_at }
    await insert(kysely, 'client_secret', { ...secret, expires_at: null })
    const text = await home()
    expect(text).to.include('A secret of <bdi>Old &#60;Books&#62;</bdi> is older than a year.')
    expect(text).to.include('/admin/open-kitchen/applications/app_old')
    const grant = { id: 'g', person_id: 'per_june', client_id, client_origin: 'site' }
    const granted = { client_name: 'Old', site_id, allowed: '{}', expires_at: Date.now() + DAY_MS }
    await insert(kysely, 'oauth_grant', { ...grant, ...granted, granted_at: Date.now() })
    const stuck = 'but it has not completed a sign-in'
    expect(await home()).not.to.include(stuck)
    await change(kysely, 'oauth_grant', { id: 'g' }, { granted_at: 1 })
    expect(await home()).to.include(stuck)
    await change(kysely, 'oauth_grant', { id: 'g' }, { last_used_at: 2 })
    expect(await home()).not.to.include(stuck)
    expect(text.match(/<svg class="spark"/g)).to.have.length(5)
    expect(text).to.include('>Sign-ins to apps</a>')
    expect(text).to.include('1 app</a>').and.not.include('All good')
  })
})
