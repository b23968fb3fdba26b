import { isUtf8 } from 'node:buffer'

const SEGMENTS = /^[^/]+(\/[^/]+)*$/

/** Characters of a path segment (RFC 3986 §3.3). Excludes `;`, which ends a segment on some servers. */
const PLAIN = /^[A-Za-z0-9._~!$&'()*+,=:@-]*$/

/** Characters that must not be percent-encoded. They need no encoding, or make the decoded path ambiguous. */
const AMBIGUOUS = /[A-Za-z0-9._~/\\;%\p{Cc}-]/u

/**
 * Whether a path has only one interpretation. It must have no empty or dot segment and no trailing slash. It must be
 * valid UTF-8, and must not encode unreserved characters, separators or control characters.
 */
export function isUnambiguousPath(path: string): boolean {
  return SEGMENTS.test(path) && path.split('/').every(isPlainSegment)
}

function isPlainSegment(segment: string): boolean {
  if (segment === '.' || segment === '..') return false
  const encoded = segment.match(/(%[0-9A-F]{2})+/g) ?? []
  if (!PLAIN.test(segment.replace(/(%[0-9A-F]{2})+/g, ''))) return false
  return encoded.every((text) => {
    const bytes = Buffer.from(text.replaceAll('%', ''), 'hex')
    return isUtf8(bytes) && !AMBIGUOUS.test(bytes.toString())
  })
}
