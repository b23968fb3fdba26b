/**
 * Callbacks of a platform that gives each connection an address of its own (design 6): a fixed https
 * address, but for one segment of its path. It owns the form and stores nothing.
 */

/** What stands for the free segment. */
export const FREE_SEGMENT = '{segment}'

/** Letters that no parser reads in two ways: no dot, no slash, nothing encoded. */
const segment = /^[A-Za-z0-9_-]{1,128}$/

/** Whether a pattern is an address in its canonical spelling, with one free segment and nothing else to it. */
export function isRedirectPattern(pattern: string): boolean {
  const parts = pattern.split(FREE_SEGMENT)
  if (parts.length !== 2 || !pattern.split('/').slice(3).includes(FREE_SEGMENT)) return false
  const example = parts.join('segment')
  const url = URL.parse(example)
  return (
    url?.protocol === 'https:' &&
    url.href === example &&
    url.origin + url.pathname === example &&
    !/[%*{}]/.test(example)
  )
}

/**
 * Whether an address is one of a pattern, letter by letter: the pattern's own text around one segment.
 * Dot segments, encoded letters, a query, a fragment, userinfo, a port and another spelling of the
 * host are all outside of that.
 */
export function matchesPattern(uri: string, pattern: string): boolean {
  const [before = '', after = ''] = pattern.split(FREE_SEGMENT)
  if (before === '' || !uri.startsWith(before) || !uri.endsWith(after)) return false
  return segment.test(uri.slice(before.length, uri.length - after.length))
}
