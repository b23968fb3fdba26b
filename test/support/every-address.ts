import {
  addressOf,
  enginePages,
  forwardAuthFor,
  pages,
  paths,
  planPaths,
} from '../../src/platform/http/paths.ts'

/** The patterns of all paths of the service. */
export const everyPattern: readonly string[] = [paths, planPaths, pages, enginePages]
  .flatMap((table) => Object.values<string>(table))
  .concat(`${forwardAuthFor}x`)

/** Returns a path that matches a pattern, with sample values. */
export function someAddress(pattern: string): string {
  return addressOf(pattern, {
    ...{ uid: 'x', site: 'northlight', client: 'northlight-notes', person: 'x', secret: 'x' },
    ...{ file: 'x', digest: 'x', token: 'x', name: 'x', path: 'x' },
  })
}
