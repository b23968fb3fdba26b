import { Provider } from 'oidc-provider'

import type { FindGrant } from '../grants/access.ts'

type Answers<Answer> = Map<string, Promise<Answer>>

/** The answers that are known in the running request; undefined outside of one. */
function makeAnswers<Answer>() {
  const byRequest = new WeakMap<object, Answers<Answer>>()
  return (): Answers<Answer> | undefined => {
    const { ctx } = Provider
    if (!ctx) return undefined
    const known = byRequest.get(ctx) ?? new Map()
    byRequest.set(ctx, known)
    return known
  }
}

/**
 * Asks each question of a request once. Several steps of a request need the same client or the same
 * grant, and all must see the same state of it. Nothing is kept for the next request.
 */
export function oncePerRequest<Question extends (string | boolean | undefined)[], Answer>(
  ask: (...question: Question) => Promise<Answer>,
): (...question: Question) => Promise<Answer> {
  const answers = makeAnswers<Answer>()
  return async (...question) => {
    const key = JSON.stringify(question)
    const known = answers()
    const answer = known?.get(key) ?? ask(...question)
    known?.set(key, answer)
    return await answer
  }
}

/** Finds each grant of a request once. A grant found with its family or a client also answers for the grant alone. */
export function grantOncePerRequest(find: FindGrant): FindGrant {
  const answers = makeAnswers<Awaited<ReturnType<FindGrant>>>()
  return async (question) => {
    const { grantId, familyId, callerId } = question
    const isPlain = familyId === undefined && callerId === undefined
    const key = isPlain ? `${grantId}` : JSON.stringify([grantId, familyId, callerId])
    const known = answers()
    const answer = known?.get(key) ?? find(question)
    known?.set(key, answer)
    const facts = await answer
    if (facts && known?.has(facts.grant.id) === false) known.set(facts.grant.id, answer)
    return facts
  }
}
