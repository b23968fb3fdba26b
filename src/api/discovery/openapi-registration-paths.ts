import { paths } from '../../platform/http/paths.ts'
import type { ServiceFacts } from './facts.ts'
import { faults, privateAnswer, refusal, shared } from './openapi-answers.ts'
import { closed, json, list, open, text, time, uri } from './openapi-shapes.ts'

const applicationType = { enum: ['web', 'native'] } as const
const authMethod = { enum: ['none', 'client_secret_post'] } as const
const grantTypes = list({ enum: ['authorization_code', 'refresh_token'] })

/** Unknown members of a request are ignored (RFC 7591 §2), so the request is open. */
const request = open({
  'client_name?': text,
  'application_type?': applicationType,
  'redirect_uris?': list(uri),
  'post_logout_redirect_uris?': list(uri),
  'token_endpoint_auth_method?': { type: 'string', description: '`none` for a public client' },
  'grant_types?': list(text),
  'response_types?': list(text),
  'scope?': { type: 'string', description: 'narrowed to what the client may have' },
})

/** Closed, so that neither a secret nor a registration access token can ever slip in. */
const record = closed({
  client_id: text,
  'client_id_issued_at?': time,
  'client_name?': text,
  'application_type?': applicationType,
  redirect_uris: list(uri),
  'post_logout_redirect_uris?': list(uri),
  token_endpoint_auth_method: authMethod,
  'grant_types?': grantTypes,
  'response_types?': list({ const: 'code' }),
  'scope?': text,
})

export function registrationPaths({ integrations, service }: ServiceFacts) {
  const known = integrations.map(({ client_name }) => client_name).join(', ')
  return {
    [paths.registration]: {
      post: {
        operationId: 'registerClient',
        summary: 'Returns the client_id of a known platform, or registers a local client',
        description: [
          known && `A known \`client_name\` (${known}) gets the \`client_id\` of that platform.`,
          `Any client whose redirect addresses are all loopback (${service.loopbackHosts.join(', ')}) gets a new one.`,
        ]
          .filter(Boolean)
          .join(' '),
        tags: ['Registration'],
        security: [],
        requestBody: { required: true, content: json(request) },
        responses: {
          201: privateAnswer('The client.', record),
          400: refusal('The registration is refused.', {
            errors: ['invalid_client_metadata', 'invalid_redirect_uri', 'invalid_request'],
          }),
          413: shared('TooLarge'),
          415: shared('UnsupportedMediaType'),
          ...faults,
        },
      },
    },
  }
}
