import { z } from 'zod'

import { paths } from '../http/paths.ts'
import { LECTURES_SHOWN_MAX, type PublishedCourse } from '../sites/public-courses.ts'
import { protocolVersions } from './protocol-versions.ts'
import {
  count,
  isoTime,
  listAnswer,
  pageArguments,
  pageOf,
  slugArgument,
  timestamp,
} from './shapes.ts'
import { defineTool, type Tool, ToolProblem } from './tool.ts'

const everybody = { kind: 'public' } as const

const siteArgument = slugArgument('the site, as in its address')

const publicCourse = {
  slug: z.string(),
  title: z.string(),
  summary: z.string(),
  publishedAt: timestamp,
  lectureCount: count,
}

export const publicTools: readonly Tool[] = [
  defineTool({
    name: 'get_service_info',
    title: 'Service information',
    description:
      'Says what this service is, where its documents are, and which protocol revisions it speaks. ' +
      'Works without a token.',
    access: everybody,
    input: z.strictObject({}),
    output: z.strictObject({
      name: z.string(),
      version: z.string(),
      issuer: z.string().describe('The issuer of access tokens and the origin of every address.'),
      authorizationGuide: z.string().describe('Address of the walkthrough to a token.'),
      authorizationServerMetadata: z.string(),
      protectedResourceMetadata: z.string(),
      openApi: z.string(),
      memberApi: z.string().describe('Address of the GraphQL API that takes the same token.'),
      protocolVersions: z.array(z.string()),
    }),
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
    title: 'Authorization guide',
    description:
      'Returns the walkthrough of this service to an access token, as Markdown: how to discover, ' +
      'register, authorize, call, handle errors and revoke. Works without a token.',
    access: everybody,
    input: z.strictObject({}),
    output: z.strictObject({
      format: z.literal('text/markdown'),
      guide: z.string(),
    }),
    run: async (_none, { parts }) => ({
      format: 'text/markdown' as const,
      guide: parts.authGuide(),
    }),
  }),
  defineTool({
    name: 'list_public_courses',
    title: 'Published courses of a site',
    description:
      'Lists the courses that a site has published, by slug. Works without a token and shows nothing ' +
      'about any person.',
    access: everybody,
    input: z.strictObject({ site: siteArgument, ...pageArguments }),
    output: pageOf(z.strictObject(publicCourse)),
    run: async ({ site, ...wanted }, call) =>
      await listAnswer(call, 'public_courses', {
        wanted,
        async read(page) {
          const { publicCourses, now } = call.parts
          const found = await publicCourses.findSite(site)
          return found && (await publicCourses.list({ siteId: found.id, nowMs: now() }, page))
        },
        missing: noSite(site),
        nodeOf: publicCourseOf,
      }),
  }),
  defineTool({
    name: 'get_public_course',
    title: 'A published course',
    description:
      'Returns one published course of a site with the titles and lengths of its lectures. Works ' +
      'without a token.',
    access: everybody,
    input: z.strictObject({ site: siteArgument, slug: slugArgument('the course') }),
    output: z.strictObject({
      ...publicCourse,
      lectures: z
        .array(z.strictObject({ title: z.string(), durationSeconds: count }))
        .max(LECTURES_SHOWN_MAX)
        .describe('In the order of the course.'),
    }),
    run: async ({ site, slug }, { parts }) => {
      const found = await parts.publicCourses.findSite(site)
      if (!found) throw new ToolProblem(noSite(site))
      const question = { siteId: found.id, nowMs: parts.now() }
      const course = await parts.publicCourses.findCourse(question, slug)
      if (!course) throw new ToolProblem(`The site ${site} has published no course ${slug}.`)
      return { ...publicCourseOf(course), lectures: [...course.lectures] }
    },
  }),
]

function noSite(slug: string): string {
  return `There is no site with the slug ${slug}.`
}

function publicCourseOf({ slug, title, summary, publishedAt, lectureCount }: PublishedCourse) {
  return { slug, title, summary, publishedAt: isoTime(publishedAt), lectureCount }
}
