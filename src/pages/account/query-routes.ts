import type Router from 'koa-router'

import type { AreaView } from '../../../views/area.ts'
import {
  readFormQuery,
  readScriptQuery,
  sendQueryPage,
  sendTried,
  type Tried,
  type TryQuery,
} from '../../api/graphql/query-page.ts'
import type { QueryToolFiles } from '../../api/graphql/query-tool.ts'
import { type HeldSite, makeFindHeldSites } from '../../directory/sites/site-choice.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { formField } from '../../platform/http/page-form.ts'
import { addressOf, pages, paths } from '../../platform/http/paths.ts'
import type { PageSession } from '../relying-party/page-session.ts'
import type { OwnPages, PageContext } from '../relying-party/signed-in-pages.ts'

/** A member of a site as the caller of the Member API. */
interface Member {
  readonly personId: string
  readonly siteId: string
  readonly name: string
  readonly email: string
}

export interface MemberQueries {
  readonly tryMemberQuery: TryQuery<Member>
  readonly queryTool: QueryToolFiles
}

/** Registers the page on which a member tries the Member API without a token. Only GraphiQL can run mutations. */
export function memberQueryRoutes(
  router: Router,
  { database, signedInPages, baseUrl }: OwnPages,
  { tryMemberQuery, queryTool }: MemberQueries,
): void {
  /** Finds the person's site with this slug or, for null, their first site. @throws nothingHere if there is none */
  const enterSite = async ({ person }: PageSession, slug: string | null) => {
    const sites = await makeFindHeldSites(database)(person.id)
    const site = slug === null ? sites[0] : sites.find((held) => held.slug === slug)
    if (!site) throw nothingHere()
    const { id: siteId } = site
    const member: Member = { personId: person.id, siteId, name: person.name, email: person.email }
    return { site, sites, member }
  }

  const show = async (
    ctx: PageContext,
    session: PageSession,
    { site, sites }: { readonly site: HeldSite; readonly sites: readonly HeldSite[] },
    tried?: Tried,
  ) => {
    const page = {
      area: areaOf(session, pages.memberQueries),
      apiName: 'Member API',
      siteName: site.name,
      says: 'The query runs as you: you see your own data at this site.',
      sites: sites.map(({ slug, name }) => ({
        name,
        href: `${pages.memberQueries}?${new URLSearchParams({ site: slug })}`,
        current: slug === site.slug,
      })),
      action: pages.memberQueries,
      hidden: { site: site.slug },
      endpoint: baseUrl + paths.graphql,
      schemaHref: paths.memberSchema,
    }
    const runAddress = addressOf(pages.runMemberQuery, { site: site.slug })
    await sendQueryPage(ctx, page, { runAddress, example: EXAMPLE, tried, tool: queryTool })
    return undefined
  }

  queryTool.addRoutes(router)
  router.get(
    pages.memberQueries,
    signedInPages.page(async (ctx, session) => {
      const slug = new URLSearchParams(ctx.querystring).get('site')
      return await show(ctx, session, await enterSite(session, slug))
    }),
  )
  router.post(
    pages.memberQueries,
    signedInPages.form(async (ctx, session) => {
      const entered = await enterSite(session, formField(ctx, 'site'))
      const typed = readFormQuery(ctx)
      const outcome = await tryMemberQuery(typed, entered.member)
      return await show(ctx, session, entered, { typed, outcome })
    }),
  )
  router.post(
    pages.runMemberQuery,
    signedInPages.script(async (ctx, session) => {
      const { member } = await enterSite(session, ctx.params['site'] ?? '')
      const typed = { ...(await readScriptQuery(ctx)), mayChange: true }
      sendTried(ctx, await tryMemberQuery(typed, member))
    }),
  )
}

export function areaOf({ person, csrf }: PageSession, current: string): AreaView {
  const link = (href: string, label: string) => ({ href, label, current: href === current })
  return {
    name: 'Your account',
    links: [
      link(pages.account, 'Your account'),
      link(pages.security, 'Password'),
      link(pages.apps, 'Connected apps'),
      link(pages.sessions, 'Your browsers'),
      link(pages.data, 'Your data'),
    ],
    signOutAction: pages.signOut,
    person,
    csrf,
  }
}

const EXAMPLE = `{
  viewer {
    name
    enrolledCourses(first: 5, access: ACTIVE, sort: EXPIRE_DATE) {
      nodes { title expireDate progressPercent }
    }
  }
}`
