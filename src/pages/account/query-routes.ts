import { html } from '../../../views/html.ts'
import type { Api } from '../../api/api.ts'
import {
  readFormQuery,
  readScriptQuery,
  sendTried,
  showQueryPage,
  type Tried,
} from '../../api/graphql/query-page.ts'
import { type HeldSite, makeFindHeldSites } from '../../directory/sites/site-choice.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { formField } from '../../platform/http/page-form.ts'
import { addressOf, pages, paths } from '../../platform/http/paths.ts'
import type { PageSession } from '../relying-party/page-session.ts'
import type { AccountPages, Asked } from './account-pages.ts'

export type MemberQueries = Pick<Api['member'], 'tryMemberQuery' | 'queryTool'>

/** Registers the page on which a member tries the Member API without a token. Only GraphiQL can run mutations. */
export function memberQueryRoutes(
  { database, signedInPages, baseUrl, router, page, form }: AccountPages,
  { tryMemberQuery, queryTool }: MemberQueries,
): void {
  /** Finds the person's site by slug or, for null, their first site. @throws nothingHere if no site matches */
  const enterSite = async ({ person }: PageSession, slug: string | null) => {
    const sites = await makeFindHeldSites(database)(person.id)
    const site = slug === null ? sites[0] : sites.find((held) => held.slug === slug)
    if (!site) throw nothingHere()
    const { id: personId, name, email } = person
    return { site, sites, member: { personId, siteId: site.id, name, email } }
  }

  const show = async (
    { ctx, session: { person } }: Asked,
    { site, sites }: { readonly site: HeldSite; readonly sites: readonly HeldSite[] },
    tried?: Tried,
  ) => {
    const shown = {
      owner: person.email,
      api: 'member' as const,
      sites: sites.map(({ slug, name }) => ({
        label: html`<bdi>${name}</bdi>`,
        href: `${pages.memberQueries}?${new URLSearchParams({ site: slug })}`,
        current: slug === site.slug,
      })),
      hidden: { site: site.slug },
      endpoint: baseUrl + paths.graphql,
      schemaHref: paths.memberSchema,
    }
    const runAddress = addressOf(pages.runMemberQuery, { site: site.slug })
    const query = { runAddress, example: EXAMPLE, tried, tool: queryTool }
    return await showQueryPage(ctx, shown, query)
  }

  queryTool.addRoutes(router)
  page(pages.memberQueries, async (asked) => {
    const slug = new URLSearchParams(asked.ctx.querystring).get('site')
    return await show(asked, await enterSite(asked.session, slug))
  })
  form(pages.memberQueries, async (asked) => {
    const entered = await enterSite(asked.session, formField(asked.ctx, 'site'))
    const typed = readFormQuery(asked.ctx)
    const outcome = await tryMemberQuery(typed, entered.member)
    return await show(asked, entered, { typed, outcome })
  })
  router.post(
    pages.runMemberQuery,
    signedInPages.script(async (ctx, session) => {
      const { member } = await enterSite(session, ctx.params['site'] ?? '')
      const typed = { ...(await readScriptQuery(ctx)), mayChange: true }
      sendTried(ctx, await tryMemberQuery(typed, member))
    }),
  )
}

const EXAMPLE = `{
  viewer {
    name
    enrolledCourses(first: 5, access: ACTIVE, sort: EXPIRE_DATE) {
      nodes { title expireDate progressPercent }
    }
  }
}`
