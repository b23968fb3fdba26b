import type { Context } from 'koa'

/**
 * What a page says was done just now. The address carries a word and never a sentence, so that no
 * link can make a page say something.
 */
export function noticeOf(
  ctx: Context,
  sentences: Readonly<Record<string, string>>,
): string | undefined {
  const word = ctx.query['done']
  return typeof word === 'string' && Object.hasOwn(sentences, word) ? sentences[word] : undefined
}
