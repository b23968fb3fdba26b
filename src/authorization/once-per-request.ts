import { Provider } from 'oidc-provider'

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
