import { z } from 'zod'

import { LECTURES_SHOWN_MAX, type PublishedCourse } from '../../directory/sites/public-courses.ts'
import { addressOf, pages } from '../../platform/http/paths.ts'
import {
  count,
  isoTime,
  listAnswer,
  pageArguments,
  pageOf,
  slugArgument,
  timestamp,
  wordsArgument,
} from './shapes.ts'
import { defineTool, type Tool, type ToolCall, ToolProblem } from './tool.ts'

/** What anybody may know of sites and their courses. It shows nothing about any person. */

const everybody = { kind: 'public' } as const

const siteArgument = slugArgument(
  'the site, of list_sites; the site of the token without it',
).optional()

const publicCourse = {
  slug: z.string(),
  title: z.string(),
  summary: z.string(),
  publishedAt: timestamp,
  lectureCount: count,
}

export const publicCourseTools: readonly Tool[] = [
  defineTool({
    name: 'list_sites',
    title: 'Sites of the platform',
    description:
      'Lists the sites of this platform, by slug, with how many courses each has published and where ' +
      'its members connect an assistant. Other tools take the slug. Works without a token.',
    access: everybody,
    input: z.strictObject({ search: wordsArgument('name or slug'), ...pageArguments }),
    output: pageOf(
      z.strictObject({
        slug: z.string(),
        name: z.string(),
        description: z.string().nullable(),
        courseCount: count.describe('How many courses it has published.'),
        address: z.string().nullable().describe('Its own pages; null when it has none.'),
        connect: z.string().describe('Where its members connect an assistant.'),
      }),
    ),
    run: async ({ search: words, ...wanted }, call) =>
      await listAnswer(call, 'sites', {
        wanted,
        read: async (page) =>
          await call.parts.publicSites.list({ words, nowMs: call.parts.now() }, page),
        nodeOf: ({ id: _id, ...site }) => ({
          ...site,
          connect: call.parts.service.baseUrl + addressOf(pages.connect, { site: site.slug }),
        }),
      }),
  }),
  defineTool({
    name: 'list_public_courses',
    title: 'Published courses of a site',
    description: 'Lists the courses that a site has published, by slug. Works without a token.',
    access: everybody,
    input: z.strictObject({
      site: siteArgument,
      search: wordsArgument('title, slug or summary'),
      ...pageArguments,
    }),
    output: pageOf(z.strictObject(publicCourse)),
    async run({ site, search: words, ...wanted }, call) {
      const { publicCourses, now } = call.parts
      const { id: siteId } = await siteOf(call, site)
      return await listAnswer(call, ['public_courses', siteId], {
        wanted,
        read: async (page) => await publicCourses.list({ siteId, nowMs: now(), words }, page),
        nodeOf: publicCourseOf,
      })
    },
  }),
  defineTool({
    name: 'get_public_course',
    title: 'A published course',
    description:
      'Returns one published course of a site with the titles and lengths of its lectures. Works ' +
      'without a token.',
    access: everybody,
    input: z.strictObject({
      site: siteArgument,
      slug: slugArgument('the course, of list_public_courses'),
    }),
    output: z.strictObject({
      ...publicCourse,
      lectures: z
        .array(z.strictObject({ title: z.string(), durationSeconds: count }))
        .max(LECTURES_SHOWN_MAX)
        .describe('In the order of the course.'),
    }),
    async run({ site, slug }, call) {
      const { publicCourses, now } = call.parts
      const { id: siteId, slug: at } = await siteOf(call, site)
      const course = await publicCourses.findCourse({ siteId, nowMs: now() }, slug)
      if (course) return { ...publicCourseOf(course), lectures: [...course.lectures] }
      throw new ToolProblem(
        `The site ${at} has published no course ${slug}. Call list_public_courses with site: "${at}" for the slugs.`,
      )
    },
  }),
]

/**
 * The site that is asked for, or that of the token.
 *
 * @throws ToolProblem when neither says one that is there
 */
async function siteOf({ caller, parts }: ToolCall, slug: string | undefined) {
  if (slug === undefined && caller?.siteId === undefined) {
    throw new ToolProblem('Say which site: call list_sites for the slugs, and pass one as site.')
  }
  const { publicCourses } = parts
  const site =
    slug === undefined
      ? await publicCourses.findSiteById(caller?.siteId ?? '')
      : await publicCourses.findSite(slug)
  if (site) return site
  throw new ToolProblem(
    `There is no site with the slug ${slug}. Call list_sites for the slugs; search takes a part of the name.`,
  )
}

function publicCourseOf({ slug, title, summary, publishedAt, lectureCount }: PublishedCourse) {
  return { slug, title, summary, publishedAt: isoTime(publishedAt), lectureCount }
}
