import type { Context } from 'koa'

import { type AreaPage, type AreaView, inArea } from '../../../views/area.ts'
import type { Page } from '../../../views/layout.ts'
import { textIfAny } from '../../../views/text.ts'
import { pages } from '../../platform/http/paths.ts'
import type { PageSession } from './page-session.ts'

/** A page to send, or a URL to redirect to; undefined if the handler has already responded. */
export type Answer = AreaPage | string | undefined
export type WholeAnswer = Page | string | undefined

/**
 * Adds the navigation of an area to a page, and the notice that the query parameter `done` names. The parameter
 * contains only the notice's name, so a link cannot make the page show arbitrary text.
 */
export function answerInArea(
  ctx: Context,
  { person, csrf }: PageSession,
  area: Pick<AreaView, 'name' | 'look' | 'entries'>,
  answer: Answer,
): WholeAnswer {
  if (typeof answer !== 'object') return answer
  const done = String(ctx.query['done'])
  // Some notices belong to no particular page. Reject a dot, which would select the notice of another page.
  const shared = done.includes('.') ? undefined : textIfAny(`done.${done}`)
  const notice = textIfAny(`done.${answer.id}.${done}`) ?? shared
  return inArea(answer, { ...area, hrefs: pages, person, csrf, path: ctx.path }, notice)
}
