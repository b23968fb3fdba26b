import { Provider } from 'oidc-provider'

import type { AccessFacts, FindGrant } from '../grants/access.ts'

/**
 * Asks each question of a request once. One answer has several steps that need the same client or the
 * same grant, and none of them may see another state of it than the step before. Nothing is kept for
 * the next request.
 */
export function oncePerRequest<Question extends (string | boolean | undefined)[], Answer>(
  ask: (...question: Question) => Promise<Answer>,
): (...question: Question) => Promise<Answer> {
  const answers = new WeakMap<object, Map<string, Promise<Answer>>>()
  return async (...question) => {
    const { ctx } = Provider
    if (!ctx) return await ask(...question)
    const known = answers.get(ctx) ?? new Map<string, Promise<Answer>>()
    answers.set(ctx, known)
    const key = JSON.stringify(question)
    const answer = known.get(key) ?? ask(...question)
    known.set(key, answer)
    return await answer
  }
}

/**
 * Looks at each grant of a request once. What was seen with its family or for a client that asks also
 * answers whoever wants to know of the grant alone.
 */
export function grantOncePerRequest(find: FindGrant): FindGrant {
  const looks = new WeakMap<object, Map<string, Promise<AccessFacts | undefined>>>()
  return async (question) => {
    const { ctx } = Provider
    if (!ctx) return await find(question)
    const known = looks.get(ctx) ?? new Map<string, Promise<AccessFacts | undefined>>()
    looks.set(ctx, known)
    const { grantId, familyId, callerId } = question
    const asked = familyId === undefined && callerId === undefined ? `${grantId}` : undefined
    const key = asked ?? JSON.stringify([grantId, familyId, callerId])
    const looked = known.get(key) ?? find(question)
    known.set(key, looked)
    const facts = await looked
    if (facts && !known.has(facts.grant.id)) known.set(facts.grant.id, looked)
    return facts
  }
}
