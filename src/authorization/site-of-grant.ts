import { randomBytes } from 'node:crypto'

/**
 * The site of a grant travels in the grant's id, `<site>~<random>`. The id is in every code and
 * token of the grant and never leaves the server, so that the site of any of them is known without
 * another look-up (design, the way of a request).
 */
export function newGrantId(siteId: string | undefined): string {
  const random = randomBytes(32).toString('base64url')
  return siteId === undefined ? random : `${siteId}~${random}`
}

/** The site of a grant, undefined when it is a plain sign-in. */
export function siteOfGrant(grantId: string | undefined): string | undefined {
  const end = grantId?.lastIndexOf('~') ?? -1
  return end > 0 ? grantId?.slice(0, end) : undefined
}
