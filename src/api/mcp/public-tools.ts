/** Defines the public tools, which describe the service, its sites and their published courses, but no people. */

import { z } from 'zod'

import type { PublishedCourse } from '../../directory/sites/public-sites.ts'
import { addressOf, pages, paths } from '../../platform/http/paths.ts'
import type { PagedRows } from '../../platform/store/keyset.ts'
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../graphql/schema-text.ts'
import { FOREIGN_CURSOR } from './document-tool.ts'
import { defineTool, protocolVersions, type Tool, type ToolCall, ToolProblem } from './tool.ts'
import { pageWords } from './tool-arguments.ts'

const CURSOR_LENGTH_MAX = 1024
const WORDS_LENGTH_MAX = 200

/** The paging arguments of the list tools. */
const pageArguments = {
  first: z.int().min(1).max(PAGE_SIZE_MAX).default(PAGE_SIZE_DEFAULT).describe(pageWords.first),
  after: z.string().min(1).max(CURSOR_LENGTH_MAX).optional().describe(pageWords.after),
}

function slugArgument(of: string) {
  const slug = z.string().max(80).describe(`Slug of ${of}.`)
  return slug.regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must contain only a–z, 0–9 and -, like slow-bread')
}

function wordsArgument(where: string) {
  const words = `Only results whose ${where} contains this text, ignoring case.`
  return z.string().min(1).max(WORDS_LENGTH_MAX).optional().describe(words)
}

const publicAccess = { kind: 'public' } as const

const siteArgument = slugArgument(
  'the site, from list_sites; required unless a token names it',
).optional()

export const publicTools: readonly Tool[] = [
  defineTool({
    name: 'get_service_info',
    title: 'Get service information',
    description:
      'Returns the name, version and document URLs of this service, and the MCP revisions that it supports. Works ' +
      'without a token.',
    access: publicAccess,
    takes: z.strictObject({}),
    run: async (_none, { parts }) => {
      const { name, version, baseUrl } = parts.service
      return {
        name,
        version,
        issuer: baseUrl,
        authorizationGuide: baseUrl + paths.authMd,
        authorizationServerMetadata: baseUrl + paths.authorizationServer,
        protectedResourceMetadata: baseUrl + paths.protectedResource + paths.mcp,
        openApi: baseUrl + paths.openApi,
        memberApi: baseUrl + paths.graphql,
        protocolVersions: [...protocolVersions],
      }
    },
  }),
  defineTool({
    name: 'get_auth_guide',
    title: 'Get the authorization guide',
    description:
      'Returns a short Markdown guide to getting an access token, with links to details. Works without a ' +
      'token.',
    access: publicAccess,
    takes: z.strictObject({}),
    run: async (_none, { parts }) => parts.authGuide(),
  }),
  defineTool({
    name: 'list_sites',
    title: "List the platform's sites",
    description:
      'Lists the sites of this platform, sorted by slug, each with its number of published courses and the page ' +
      'for connecting an assistant. Other tools take the slug. Works without a token.',
    access: publicAccess,
    takes: z.strictObject({ search: wordsArgument('name or slug'), ...pageArguments }),
    run: async ({ search: words, ...wanted }, call) =>
      await listAnswer(call, 'sites', {
        wanted,
        list: call.parts.publicCourses.listSites({ words, nowMs: call.parts.now() }),
        nodeOf: ({ id: _id, ...site }) => ({
          ...site,
          connect: call.parts.service.baseUrl + addressOf(pages.connect, { site: site.slug }),
        }),
      }),
  }),
  defineTool({
    name: 'list_public_courses',
    title: "List a site's published courses",
    description: "Lists a site's published courses, sorted by slug. Works without a token.",
    access: publicAccess,
    takes: z.strictObject({
      site: siteArgument,
      search: wordsArgument('title, slug or summary'),
      ...pageArguments,
    }),
    async run({ site, search: words, ...wanted }, call) {
      const { publicCourses, now } = call.parts
      const { id: siteId } = await siteOfCall(call, site)
      return await listAnswer(call, ['public_courses', siteId], {
        wanted,
        list: publicCourses.list({ siteId, nowMs: now(), words }),
        nodeOf: publicCourseOf,
      })
    },
  }),
  defineTool({
    name: 'get_public_course',
    title: 'Get a published course',
    description:
      "Returns one of a site's published courses, with the titles and durations of its lectures. Works " +
      'without a token.',
    access: publicAccess,
    takes: z.strictObject({
      site: siteArgument,
      slug: slugArgument('the course, from list_public_courses'),
    }),
    async run({ site, slug }, call) {
      const { publicCourses, now } = call.parts
      const { id: siteId, slug: at } = await siteOfCall(call, site)
      const course = await publicCourses.findCourse({ siteId, nowMs: now() }, slug)
      if (course) return { ...publicCourseOf(course), lectures: course.lectures }
      throw new ToolProblem(
        `The site ${at} has no published course ${slug}. Call list_public_courses with site: "${at}" for valid slugs.`,
      )
    },
  }),
]

/** Finds a site by its slug or, without a slug, the site of the token. @throws ToolProblem if none exists */
async function siteOfCall({ caller, parts }: ToolCall, slug: string | undefined) {
  const { findSite, findSiteById } = parts.publicCourses
  if (slug === undefined) {
    const own = caller?.siteId === undefined ? undefined : await findSiteById(caller.siteId)
    if (own) return own
    throw new ToolProblem('The argument "site" is required. Call list_sites for valid slugs.')
  }
  const site = await findSite(slug)
  if (site) return site
  throw new ToolProblem(
    `There is no site with the slug ${slug}. Call list_sites for valid slugs; its argument \`search\` matches part of a name or slug.`,
  )
}

function publicCourseOf({ slug, title, summary, publishedAt, lectureCount }: PublishedCourse) {
  return { slug, title, summary, publishedAt: new Date(publishedAt).toISOString(), lectureCount }
}

interface ListQuestion<Row, Node> {
  readonly wanted: { readonly first: number; readonly after?: string | undefined }
  readonly list: PagedRows<Row>
  readonly nodeOf: (row: Row) => Node
}

/** Returns one page of a list. Cursors are bound to the list. @throws ToolProblem for an invalid cursor */
async function listAnswer<Row, Node>(
  { parts }: ToolCall,
  name: string | readonly string[],
  { wanted: { first, after: cursor }, list, nodeOf }: ListQuestion<Row, Node>,
) {
  const scope = ['tools', ...[name].flat()]
  const after = cursor === undefined ? undefined : parts.cursors.open(cursor, scope)
  if (cursor !== undefined && !after) throw new ToolProblem(FOREIGN_CURSOR)
  const [page, totalCount] = await Promise.all([list.page({ first, after }), list.count()])
  const { rows, places, hasNextPage } = page
  const last = places.at(-1)
  return {
    nodes: rows.map(nodeOf),
    pageInfo: { hasNextPage, endCursor: last ? parts.cursors.seal(last, scope) : null },
    totalCount,
  }
}
