import type { Seen } from './wire.ts'

export const HANG_MS = 2000

/** A piece of the marker that could end or begin an attribute or an element. */
const reflected = /mk7["']|<u mk7/

export function judge({ status, headers, text, tookMs }: Seen): string | undefined {
  if (status >= 500) return `${status}: ${text.slice(0, 200)}`
  if (tookMs > HANG_MS) return `${Math.round(tookMs)} ms`
  if (headers['x-mk7']) return 'a header that the request injected into the response'
  const isPage = headers['content-type']?.some((type) => /html|svg|xml/.test(type))
  const at = text.search(reflected)
  if (!isPage || at < 0) return undefined
  return `markup of the caller: ${text.slice(Math.max(0, at - 80), at + 80)}`
}
