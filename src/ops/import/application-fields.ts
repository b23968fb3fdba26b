import { z } from 'zod'

import { KEY_SET_LENGTH_MAX, readKeySet } from '../../oauth/clients/client-keys.ts'
import { optional, time, url } from './forms.ts'

/** The public keys of a client, as the text that its maker gave. */
const keySet = z
  .string()
  .max(KEY_SET_LENGTH_MAX)
  .refine((text) => 'jwks' in readKeySet(text), 'must be a JWK set of public keys, as text')

/** An address of the client's own server; where its name leads is seen when it is used. */
const serverAddress = url.refine((address) => address.startsWith('https://'), 'must be https')

/** What an application chose of the further plans (oauth/clients/further-plans.ts). */
export const furtherFields = {
  jwks: optional(keySet),
  jwksUri: optional(serverAddress),
  pushedRequestsRequiredAt: optional(time),
  boundTokensRequiredAt: optional(time),
  backchannelLogoutUri: optional(serverAddress),
  backchannelLogoutSessionRequiredAt: optional(time),
}

interface KeyFields {
  readonly authMethod: string
  readonly jwks: string | null
  readonly jwksUri: string | null
}

/** Keys stand at one place where the application authenticates with one, and nowhere otherwise. */
export function hasKeys({ authMethod, jwks, jwksUri }: KeyFields): boolean {
  const places = [jwks, jwksUri].filter((place) => place !== null).length
  return places === (authMethod === 'private_key_jwt' ? 1 : 0)
}
