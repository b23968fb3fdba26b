import { headerOf, type Seen } from './wire.ts'

/** How long any answer may take. */
export const HANG_MS = 2000

/** What is wrong with an answer, if anything. */
export function judge(seen: Seen): string | undefined {
  if (seen.status >= 500) return `${seen.status}: ${seen.text.slice(0, 200)}`
  if (seen.tookMs > HANG_MS) return `${Math.round(seen.tookMs)} ms`
  if (headerOf(seen, 'x-mk7').length > 0) return 'a header of the caller’s'
  if (isPage(seen) && isReflected(seen.text))
    return `markup of the caller: ${aroundMarkup(seen.text)}`
  return undefined
}

function isPage(seen: Seen): boolean {
  return headerOf(seen, 'content-type').some((type) => /html|svg|xml/.test(type))
}

/** Any piece of the marker with which an attribute or an element could be ended or begun. */
function isReflected(text: string): boolean {
  return /mk7["']|<u mk7/.test(text)
}

function aroundMarkup(text: string): string {
  const at = text.search(/mk7["']|<u mk7/)
  return text.slice(Math.max(0, at - 80), at + 80)
}
