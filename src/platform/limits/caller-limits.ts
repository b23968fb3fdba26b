import type { Context } from 'koa'

import type { LimitName } from './limit-table.ts'
import { type Limits, personKey } from './limits.ts'
import { answerTooMany, refusalOf, type Shape } from './too-many.ts'

/** A person by a client, as a good token names them. */
export interface CallingPerson {
  readonly personId: string
  readonly clientId: string
  readonly siteId?: string | undefined
}

export type CallerLimits = ReturnType<typeof makeCallerLimits>

/** Counts callers whom a surface knows by now; those that it does not are counted by address before. */
export function makeCallerLimits(limits: Limits) {
  return {
    /**
     * Answers 429 when a client has used up one of its limits. It need not have authenticated yet: only
     * what it did after it had is counted.
     */
    turnsClientAway(ctx: Context, names: readonly LimitName[], clientId: string): boolean {
      for (const name of names) {
        const exceeded = limits.exceeded(name, clientId)
        if (!exceeded) continue
        answerTooMany(ctx, exceeded, 'json')
        return true
      }
      return false
    },
    /** @throws tooManyRequests when a client has used up what is its own */
    refuseClient(ctx: Pick<Context, 'set' | 'state'>, name: LimitName, clientId: string): void {
      const exceeded = limits.exceeded(name, clientId)
      if (exceeded) throw refusalOf(ctx, exceeded)
    },
    /** Counts what a client did that has authenticated. */
    countClient(name: LimitName, clientId: string): void {
      limits.count(name, clientId)
    },
    /** Counts what somebody does in our own pages; answers 429 when it was too much. */
    turnsAway(ctx: Context, personId: string, shape: Shape): boolean {
      const exceeded = limits.take('pagesOfPerson', personId)
      if (exceeded) answerTooMany(ctx, exceeded, shape)
      return exceeded !== undefined
    },
    /** Counts a call of a tool; answers 429 when there were too many. */
    turnsCallAway(ctx: Context, person: CallingPerson): boolean {
      const exceeded = limits.take('toolsOfCaller', personKey(person))
      if (exceeded) answerTooMany(ctx, exceeded, 'message')
      return exceeded !== undefined
    },
    /** Counts a change of a site by a tool, by whichever client; answers 429 when there were too many. */
    turnsChangeAway(ctx: Context, person: CallingPerson): boolean {
      const exceeded = limits.take('changes', personKey({ ...person, clientId: '' }))
      if (exceeded) answerTooMany(ctx, exceeded, 'message')
      return exceeded !== undefined
    },
    /** @throws tooManyRequests when a person did it too often by this client */
    refuseBeyond(
      ctx: Pick<Context, 'set' | 'state'>,
      name: LimitName,
      person: CallingPerson,
    ): void {
      const exceeded = limits.take(name, personKey(person))
      if (exceeded) throw refusalOf(ctx, exceeded)
    },
  }
}
