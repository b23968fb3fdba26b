import type { KoaContextWithOIDC } from 'oidc-provider'

import { explainRedirect } from '../clients/redirect-difference.ts'

type Asked = Pick<KoaContextWithOIDC['oidc'], 'client'> & {
  readonly params: Readonly<Record<string, unknown>>
}

/**
 * What the log, and the operator of the application under Refusals, read in place of a reason of the
 * engine that leaves open what exactly was wrong.
 */
const reasons = new Map<string, (asked: Asked) => string | undefined>([
  [
    "redirect_uri did not match any of the client's registered redirect_uris",
    ({ client, params }) =>
      client && explainRedirect(String(params['redirect_uri'] ?? ''), client.redirectUris ?? []),
  ],
  [
    'the provided authentication mechanism does not match the registered client authentication method',
    ({ client }) =>
      client && `the client did not authenticate by ${client.clientAuthMethod}, which it must`,
  ],
  // The stores know of no record that has expired.
  ['authorization code not found', () => NO_SUCH_CODE],
])

const NO_SUCH_CODE =
  'there is no such code now: it was not exchanged within its short life, or not sent in full, or is of ' +
  'another service'

/** @param said the reason that the engine gives */
export function exactReason(said: string, asked: Asked): string {
  return reasons.get(said)?.(asked) ?? said
}
