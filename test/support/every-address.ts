import {
  addressOf,
  enginePages,
  forwardAuthFor,
  linkPages,
  pages,
  paths,
  planPaths,
} from '../../src/platform/http/paths.ts'
import { stylesheet } from '../../views/stylesheet.ts'

/** The patterns of all paths of the service. */
export const everyPattern: readonly string[] = [paths, planPaths, pages, linkPages, enginePages]
  .flatMap((table) => Object.values<string>(table))
  .concat(`${forwardAuthFor}x`)

const values = {
  ...{ uid: 'the-uid', site: 'northlight', client: 'northlight-notes', secret: 'the-secret' },
  ...{ person: 'the-person', file: stylesheet.file, path: 'coupons', token: 'the-token' },
  ...{ name: 'the-name', format: 'csv', digest: 'the-digest', provider: 'the-provider' },
  endpoint: 'the-endpoint',
}

/** A file name that the path `pages.mailMessage` accepts. */
export const mailFile = '1800000000000-00000000-0000-4000-8000-000000000000.eml'

/** Returns a path that matches a pattern, with sample values. */
export function someAddress(pattern: string): string {
  return addressOf(pattern, pattern === pages.mailMessage ? { file: mailFile } : values)
}
