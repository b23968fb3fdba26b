import type { Answers } from '../../tools/token/headless-person.ts'
import { olivia, sam } from '../support/gatehouse.ts'

export type WayName = 'member' | 'operator'

export interface Way {
  readonly name: WayName
  readonly path: string
  readonly person: Answers
  /** A tool without required arguments that needs a scope of this way. */
  readonly tool: string
  /** A text of the result that needs the token. */
  readonly answers: string
}

/** An operator creates a member's client; an operator's client registers itself (specification, Client registration). */
export const ways: Readonly<Record<WayName, Way>> = {
  member: {
    name: 'member',
    path: '/mcp/member',
    person: sam,
    tool: 'list_enrolled_courses',
    answers: 'Reading Light',
  },
  operator: {
    name: 'operator',
    path: '/mcp/admin',
    person: olivia,
    tool: 'get_site',
    answers: 'Northlight Academy',
  },
}

export const wayNames: readonly WayName[] = ['member', 'operator']
