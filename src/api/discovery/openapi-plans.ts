import { proofAlgorithms } from '../../oauth/proofs/proof-algorithms.ts'
import { planPaths } from '../../platform/http/paths.ts'
import type { ServiceFacts } from './facts.ts'
import { faults, header, privateAnswer, refusal, shared } from './openapi-answers.ts'
import { authorizationFields } from './openapi-authorization-paths.ts'
import { closed, form, list, type Members, open, said, seconds, text } from './openapi-shapes.ts'
import { clientFields } from './openapi-token-paths.ts'

/** What the description has besides while a further plan is on: from the same facts as discovery. */

const proofs = list({ enum: [...proofAlgorithms] })

/** In the metadata of the authorization server. */
export function planMetadata({ service: { furtherPlans } }: ServiceFacts): Members {
  return {
    ...(furtherPlans.pushedAuthorizationRequests && {
      pushed_authorization_request_endpoint: { type: 'string', format: 'uri' },
    }),
    ...(furtherPlans.dpop && { dpop_signing_alg_values_supported: proofs }),
    ...(furtherPlans.privateKeyJwt && {
      token_endpoint_auth_signing_alg_values_supported: proofs,
      revocation_endpoint_auth_signing_alg_values_supported: proofs,
      introspection_endpoint_auth_signing_alg_values_supported: proofs,
    }),
    ...(furtherPlans.backChannelLogout && {
      backchannel_logout_supported: { const: true },
      backchannel_logout_session_supported: { const: true },
    }),
  }
}

/** In the metadata of a protected resource. */
export function planResourceMetadata({ service: { furtherPlans } }: ServiceFacts): Members {
  return furtherPlans.dpop ? { dpop_signing_alg_values_supported: proofs } : {}
}

/** Refusals of a token that say more where one can be bound to a key (RFC 9449 §7.1). */
export function planResponses({ service: { furtherPlans } }: ServiceFacts) {
  if (!furtherPlans.dpop) return {}
  return {
    InvalidToken: refusal('No valid access token of this origin came with the request.', {
      errors: ['invalid_token', 'invalid_request', 'invalid_dpop_proof', 'use_dpop_nonce'],
      headers: { 'WWW-Authenticate': header('Challenge') },
    }),
  }
}

/** Addresses that are there while their plan is on. */
export function pathsOfPlans(facts: ServiceFacts) {
  const { furtherPlans } = facts.service
  if (!furtherPlans.pushedAuthorizationRequests) return {}
  const { client_id, ...asked } = authorizationFields(facts)
  const fields = open({
    ...clientFields(facts),
    ...asked,
    ...(furtherPlans.dpop && {
      'dpop_jkt?': said('the key that the code will need (RFC 9449 §10)'),
    }),
  })
  const post = {
    operationId: 'pushAuthorizationRequest',
    summary: 'Takes an authorization request beforehand (RFC 9126)',
    tags: ['Authorization'],
    security: [{}, { clientSecretBasic: [] }],
    requestBody: { required: true, content: form(fields) },
    responses: {
      201: privateAnswer(
        'What stands in for the request, once.',
        closed({ request_uri: text, expires_in: seconds }),
      ),
      400: refusal('The request is refused.'),
      401: shared('InvalidClient'),
      ...faults,
    },
  }
  return { [planPaths.pushedAuthorization]: { post } }
}
