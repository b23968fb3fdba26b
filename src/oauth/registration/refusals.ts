import { pages, paths } from '../../platform/http/paths.ts'
import { isLoopbackRedirect } from '../../platform/http/redirect-uri.ts'

/** What the sentences of a refusal are made of. */
export interface RefusalFacts {
  readonly baseUrl: string
  readonly loopbackHosts: readonly string[]
  readonly metadataDocuments: {
    readonly hosts: readonly string[]
    readonly openRegistration: boolean
  }
}

/**
 * Why an http or https address is refused, and what to do. The sentences end up before people who
 * connect an assistant, so that each names the next step and where it is taken. They quote nothing
 * that was sent, but for an address in the one form that is accepted.
 */
export function whyForeign(foreign: readonly string[], facts: RefusalFacts): string {
  const { loopbackHosts } = facts
  const [pathless] = foreign.filter((uri) => isLoopbackRedirect(`${uri}/`, loopbackHosts))
  if (pathless !== undefined && foreign.length === 1) {
    return `a loopback redirect address needs a path: send ${pathless}/callback, for example`
  }
  return `a fixed callback requires a registered integration. ${otherWays(facts)} Without one every redirect address must be of the form http://<host>:<port>/<path> with the host ${loopbackHosts.join(' or ')}`
}

/** Why a body describes nobody, and what to do. */
export function whyUnknown(
  redirectUris: readonly string[],
  known: boolean,
  facts: RefusalFacts,
): string {
  if (redirectUris.length === 0) {
    return `client_name is not a known integration, and there are no loopback redirect_uris. ${otherWays(facts)}`
  }
  return known
    ? `none of the redirect addresses is one of the platform. ${otherWays(facts)}`
    : `redirect_uris may only have http loopback addresses. ${otherWays(facts)}`
}

function otherWays({ baseUrl, metadataDocuments }: RefusalFacts): string {
  const ask = `Ask an operator of the site for a client_id, at ${baseUrl}${pages.connectHome}`
  const { hosts, openRegistration } = metadataDocuments
  if (openRegistration) {
    return `${ask}, or publish a client ID metadata document (${baseUrl}${paths.authMd}).`
  }
  if (hosts.length === 0) return `${ask}.`
  return `${ask}, or publish a client ID metadata document on a host that is admitted (${baseUrl}${paths.authMd}).`
}
