import {
  addressOf,
  enginePages,
  forwardAuthFor,
  pages,
  paths,
  planPaths,
} from '../../src/platform/http/paths.ts'

/** The pattern of every address of the service. */
export const everyPattern: readonly string[] = [paths, planPaths, pages, enginePages]
  .flatMap((table) => Object.values<string>(table))
  .concat(`${forwardAuthFor}x`)

/** An address of a pattern, with some value for each of its parts. */
export function someAddress(pattern: string): string {
  return addressOf(pattern, {
    ...{ uid: 'x', site: 'northlight', client: 'northlight-notes', person: 'x', secret: 'x' },
    ...{ file: 'x', digest: 'x', token: 'x', name: 'x', path: 'x' },
  })
}
