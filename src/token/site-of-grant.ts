import { randomBytes } from 'node:crypto'

/**
 * The site of a grant travels in the grant's id, `<site>~<random>`. The id is in every code and
 * token of the grant and never leaves the server, so that the site of any of them is known without
 * another look-up (design 15).
 *
 * With a client of a metadata document, the fingerprint of what the person agreed to follows after a
 * full stop: a document that has another name or other redirect addresses needs a consent of its own.
 */
export function newGrantId(siteId: string | undefined, fingerprint?: string): string {
  const random = randomBytes(32).toString('base64url')
  const own = fingerprint === undefined ? random : `${random}.${fingerprint}`
  return siteId === undefined ? own : `${siteId}~${own}`
}

/** The fingerprint of the document that a grant was given to, undefined for any other client. */
export function fingerprintOfGrant(grantId: string): string | undefined {
  return /\.([\w-]+)$/.exec(grantId)?.[1]
}

/** The site of a grant, undefined when it is a plain sign-in. */
export function siteOfGrant(grantId: string | undefined): string | undefined {
  const end = grantId?.lastIndexOf('~') ?? -1
  return end > 0 ? grantId?.slice(0, end) : undefined
}
