import type { Server } from '@modelcontextprotocol/server'

import { MEMBER_READ, readScope, writeScope } from '../../directory/scopes/catalogue.ts'
import { invalidParams } from './call-tool.ts'
import type { ToolAccess, ToolCall } from './tool.ts'
import { isListed, isServedAt } from './tool-access.ts'

/** A frequent question or task that hosts offer to people. */
export interface Prompt {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly access: ToolAccess
  readonly arguments?: ReturnType<typeof asks>[]
  /** Returns the message to the model. The message names tools, but does not repeat their descriptions. */
  readonly text: (values: Readonly<Record<string, string>>) => string
}

const needs = (...needed: string[]): ToolAccess => ({ kind: 'scopes', needed })
const asks = (name: string, description: string, required = false) => {
  return { name, description, required }
}

/** All prompts of the service, in the order of prompts/list. */
export const promptCatalogue: readonly Prompt[] = [
  {
    name: 'find_a_course',
    title: 'Find a course',
    description: 'Finds published courses about a subject.',
    access: { kind: 'public' },
    arguments: [
      asks('about', 'What the course should be about.', true),
      asks('site', 'Slug of a site; defaults to all sites.'),
    ],
    text: ({ about, site }) =>
      `Find courses about ${quoted(about)}. ` +
      (site
        ? `Call list_public_courses with site ${quoted(site)} and a search word. `
        : 'Call list_sites, then call list_public_courses for each site with a search word. ') +
      'Try other words if nothing is found. Compare the results by title, summary and number of lectures, ' +
      'and name the site of each.',
  },
  {
    name: 'courses_ending_soon',
    title: 'Which of my courses end soon?',
    description: 'Lists the courses whose access ends soon, earliest first.',
    access: needs(MEMBER_READ),
    arguments: [asks('days', 'Number of days; default 30.')],
    text: ({ days = '30' }) =>
      `Which of my courses end within the next ${quoted(days)} days? Call list_enrolled_courses with ` +
      'access: ACTIVE and sort: EXPIRE_DATE until expireDate is later than that; null means lifetime access. ' +
      'List these courses with expireDate and progressPercent. Say so if there are none.',
  },
  {
    name: 'whats_new',
    title: 'What is new for me?',
    description: 'Summarizes the unread notifications.',
    access: needs(MEMBER_READ),
    text: () =>
      'What is new for me? Call list_notifications with unreadOnly: true and summarize them by topic, ' +
      'newest first, with their links. Mark nothing as read unless I say so.',
  },
  {
    name: 'continue_learning',
    title: 'Where did I stop?',
    description: 'Finds the lecture to continue with.',
    access: needs(MEMBER_READ),
    text: () =>
      'Where did I stop learning? Call list_enrolled_courses with access: ACTIVE and look at ' +
      'lastWatchedLecture. Name the course that I watched last, the lecture and the minute, and then ' +
      'the others that I have started.',
  },
  {
    name: 'week_in_review',
    title: 'How did the week go?',
    description: 'Compares the statistics of the last seven days with the seven before.',
    access: needs(readScope('analytics')),
    text: () =>
      'How did the last week go? Call get_site_analytics for the last fourteen days and compare the last ' +
      'seven with the seven before: enrolments, active members, completed courses, sign-ins. Say what rose, what ' +
      'fell and which day stands out, in five sentences.',
  },
  {
    name: 'who_has_not_started',
    title: 'Who has not started?',
    description: 'Lists the students of a course who have not watched any of it.',
    access: needs(readScope('courses'), readScope('students')),
    arguments: [asks('course', 'Title or slug of the course.', true)],
    text: ({ course }) =>
      `Who is enrolled in the course ${quoted(course)} and has not started? Find the course with list_site_courses, its ` +
      'students with list_site_students by courseId, and the progress of each with get_site_student. List those whose ' +
      'progress in this course has no lastWatchedAt, with the date on which they enrolled.',
  },
  {
    name: 'draft_announcement',
    title: 'Draft an announcement',
    description: 'Writes an announcement and saves it as a draft.',
    access: needs(writeScope('posts')),
    arguments: [asks('about', 'What to announce.', true)],
    text: ({ about }) =>
      `Write an announcement to the members of my site about ${quoted(about)}: a title and at most 120 words, ` +
      'plain and friendly. Show it to me first. If I agree, save it as a draft with create_post. Do not publish it.',
  },
]

export function findPrompt(name: unknown): Prompt | undefined {
  return promptCatalogue.find((prompt) => prompt.name === name)
}

const VALUE_LENGTH_MAX = 500

/** Creates the text of a prompt from values that a person entered. @throws ProtocolError for invalid values */
export function promptText(prompt: Prompt, values: Readonly<Record<string, string>>): string {
  const taken = prompt.arguments ?? []
  const known = taken.map(({ name }) => name)
  const fits =
    known.length > 0 ? `The prompt takes ${known.join(', ')}.` : 'The prompt takes no arguments.'
  for (const [name, value] of Object.entries(values)) {
    if (!known.includes(name)) throw invalidParams(`Unknown argument ${quoted(name)}. ${fits}`)
    if (value.length > VALUE_LENGTH_MAX) {
      throw invalidParams(`${name} must have at most ${VALUE_LENGTH_MAX} characters.`)
    }
  }
  // Some hosts send an empty string for an omitted value.
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))
  const missing = taken.find(({ name, required }) => required && !(name in given))
  if (missing) throw invalidParams(`${missing.name} is required: ${missing.description}`)
  return prompt.text(given)
}

/** Quotes and shortens a value, so the model can tell it from the instructions. */
function quoted(value = ''): string {
  return JSON.stringify(value.slice(0, VALUE_LENGTH_MAX))
}

/** Handles prompts/list and prompts/get, for the prompts that the caller may use at this endpoint. */
export function offerPrompts(server: Server, { caller, address }: ToolCall): void {
  const isOffered = (prompt: Prompt) =>
    isServedAt(address, prompt) && isListed(prompt.access, caller)

  server.setRequestHandler('prompts/list', () => ({
    prompts: promptCatalogue.filter(isOffered).map(({ access: _, text: __, ...shown }) => shown),
  }))

  server.setRequestHandler('prompts/get', ({ params }) => {
    const prompt = findPrompt(params.name)
    // The endpoint has already checked access. Check again, in case a message bypasses that check.
    if (!prompt || !isOffered(prompt)) {
      const names = promptCatalogue.filter(isOffered).map(({ name }) => name)
      throw invalidParams(`There is no prompt with that name. Use one of: ${names.join(', ')}.`)
    }
    const text = promptText(prompt, params.arguments ?? {})
    return {
      description: prompt.description,
      messages: [{ role: 'user', content: { type: 'text', text } }],
    }
  })
}
