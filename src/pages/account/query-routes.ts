import type Router from 'koa-router'

import {
  sendQueryPage,
  sendTried,
  type Tried,
  typedInForm,
  typedInScript,
} from '../../api/graphql/query-pages.ts'
import type { QueryToolFiles } from '../../api/graphql/query-tool.ts'
import type { TryQuery } from '../../api/graphql/try-query.ts'
import { type HeldSite, listHeldSites } from '../../directory/sites/site-choice.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { formField } from '../../platform/http/page-form.ts'
import { addressOf, pages, paths } from '../../platform/http/paths.ts'
import type { PageSession } from '../relying-party/page-session.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import { type AccountPorts, areaOf } from './area.ts'

/** A member at one of their sites, as the Member API knows whoever asks. */
interface Member {
  readonly personId: string
  readonly siteId: string
  readonly name: string
  readonly email: string
}

export interface QueryPorts extends AccountPorts {
  readonly tryMemberQuery: TryQuery<Member>
  readonly queryTool: QueryToolFiles
  readonly baseUrl: string
}

/**
 * Where a member tries queries of the Member API about one of their sites, in a browser and without a
 * token: being signed in as oneself is as good as `account:read` and, for the script that sends the
 * page's token along, `account:write`.
 */
export function queryRoutes(router: Router, ports: QueryPorts): void {
  const { signedInPages, tryMemberQuery, queryTool } = ports
  queryTool.addRoutes(router)
  router.get(
    pages.memberQueries,
    signedInPages.page(async (ctx, session) => {
      const wanted = new URLSearchParams(ctx.querystring).get('site')
      const sites = await listHeldSites(ports.database, session.person.id)
      const site = wanted === null ? sites[0] : sites.find(({ slug }) => slug === wanted)
      if (!site) throw nothingHere()
      await send(ctx, session, { site, sites, ports })
    }),
  )
  router.post(
    pages.memberQueries,
    signedInPages.form(async (ctx, session) => {
      const { site, sites } = await enter(session, formField(ctx, 'site'), ports)
      const typed = typedInForm(ctx)
      const outcome = await tryMemberQuery(typed, memberAt(session, site))
      await send(ctx, session, { site, sites, ports, tried: { typed, outcome } })
    }),
  )
  router.post(
    pages.runMemberQuery,
    signedInPages.script(async (ctx, session) => {
      const { site } = await enter(session, ctx.params['site'] ?? '', ports)
      const typed = { ...(await typedInScript(ctx)), mayChange: true }
      sendTried(ctx, await tryMemberQuery(typed, memberAt(session, site)))
    }),
  )
}

/** The site of a request, at which the person holds a role now. */
async function enter(
  { person }: PageSession,
  slug: string,
  { database }: QueryPorts,
): Promise<{ readonly site: HeldSite; readonly sites: readonly HeldSite[] }> {
  const sites = await listHeldSites(database, person.id)
  const site = sites.find((held) => held.slug === slug)
  if (!site) throw nothingHere()
  return { site, sites }
}

function memberAt({ person }: PageSession, { id: siteId }: HeldSite): Member {
  return { personId: person.id, siteId, name: person.name, email: person.email }
}

interface Shown {
  readonly site: HeldSite
  readonly sites: readonly HeldSite[]
  readonly ports: QueryPorts
  readonly tried?: Tried
}

async function send(
  ctx: PageContext,
  session: PageSession,
  { site, sites, ports, tried }: Shown,
): Promise<void> {
  const page = {
    area: areaOf(session, pages.memberQueries),
    apiName: 'Member API',
    siteName: site.name,
    says: 'It is run as you: you see what is yours there.',
    sites: sites.map(({ slug, name }) => ({
      name,
      href: `${pages.memberQueries}?${new URLSearchParams({ site: slug })}`,
      current: slug === site.slug,
    })),
    action: pages.memberQueries,
    hidden: { site: site.slug },
    endpoint: ports.baseUrl + paths.graphql,
    schemaHref: paths.memberSchema,
  }
  const runAddress = addressOf(pages.runMemberQuery, { site: site.slug })
  await sendQueryPage(ctx, page, { runAddress, example: EXAMPLE, tried, tool: ports.queryTool })
}

const EXAMPLE = `{
  viewer {
    name
    enrolledCourses(first: 5, access: ACTIVE, sort: EXPIRE_DATE) {
      nodes { title expireDate progressPercent }
    }
  }
}`
