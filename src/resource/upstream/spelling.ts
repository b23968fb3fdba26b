const SEGMENTS = /^[^/]+(\/[^/]+)*$/

/** RFC 3986 §3.3 without `;`, which some servers cut a segment at. Percent signs are looked at below. */
const PLAIN = /^[A-Za-z0-9._~!$&'()*+,=:@-]*$/

/** What must not be encoded, because it is the same without; what would be another address decoded. */
const AMBIGUOUS = /[A-Za-z0-9._~/\\;%\p{Cc}-]/u

/**
 * Whether a path can only be read in one way, by us and by whatever server stands behind: no empty or
 * dot segment, no slash at its end, nothing encoded that need not be or that separates segments, and
 * only UTF-8.
 */
export function hasOneSpelling(path: string): boolean {
  return SEGMENTS.test(path) && path.split('/').every(isPlainSegment)
}

function isPlainSegment(segment: string): boolean {
  if (segment === '.' || segment === '..') return false
  const encoded = segment.match(/(%[0-9A-F]{2})+/g) ?? []
  if (!PLAIN.test(segment.replace(/(%[0-9A-F]{2})+/g, ''))) return false
  return encoded.every((bytes) => {
    const text = decoded(bytes)
    return text !== undefined && !AMBIGUOUS.test(text)
  })
}

function decoded(bytes: string): string | undefined {
  try {
    return decodeURIComponent(bytes)
  } catch {
    return undefined
  }
}
