import type { Answers } from '../../tools/token/headless-person.ts'
import { olivia, sam } from '../support/gatehouse.ts'

/** The two ways into the tools: as a member of a site, and as an operator of one. */
export type WayName = 'member' | 'operator'

export interface Way {
  readonly name: WayName
  /** The address of the tools that is given to the client, below the address of the service. */
  readonly path: string
  /** Who signs in. */
  readonly person: Answers
  /** A tool without required arguments that needs a scope of this way. */
  readonly tool: string
  /** What the tool answers about this person and nobody without a token can read. */
  readonly answers: string
}

/**
 * A member's client gets its client_id from an operator, and an operator's client none: it registers
 * itself (specification, Client registration).
 */
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
