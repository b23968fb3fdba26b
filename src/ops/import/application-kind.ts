import { z } from 'zod'

import { scopeNames } from '../../directory/scopes/catalogue.ts'
import { secretHint } from '../../oauth/clients/secret.ts'
import { hasKnownPort } from '../../platform/http/client-addresses.ts'
import { mayReturnTo } from '../../platform/http/redirect-uri.ts'
import { sha256 } from '../../platform/store/digest.ts'
import { trimmed } from '../../school/changes/input.ts'
import * as schemas from './field-schemas.ts'
import { kind } from './record-rows.ts'

const { clientId, id, keySet, list, matching, optional, serverUrl, time } = schemas

const secretDigest = z.strictObject({
  id: trimmed(120),
  digest: trimmed(120),
  hint: trimmed(20),
  createdAt: time,
  expiresAt: optional(time),
})

const isHttps = (uri: string) => uri.startsWith('https:')

const schema = z
  .strictObject({
    clientId,
    kind: z.enum(['site', 'resource_server']),
    site: optional(id('sit')),
    name: trimmed(120),
    authMethod: z.enum(['none', 'client_secret_post', 'private_key_jwt']),
    applicationType: z.enum(['web', 'native']),
    /** The assistant that the application was created for, by its id in config/assistants.json. */
    assistant: optional(matching(60, /^[a-z][a-z0-9-]*$/)),
    /** `operatorAt` is set for operator applications, `endlessAt` if their token families have no maximum lifetime. */
    operatorAt: optional(time),
    endlessAt: optional(time),
    // Fields of optional protocols (oauth/clients/optional-protocols.ts).
    jwks: optional(keySet),
    jwksUri: optional(serverUrl),
    pushedRequestsRequiredAt: optional(time),
    boundTokensRequiredAt: optional(time),
    backchannelLogoutUri: optional(serverUrl),
    backchannelLogoutSessionRequiredAt: optional(time),
    redirectUris: list(z.string().max(2000), 20),
    postLogoutRedirectUris: list(z.string().max(2000), 20),
    scopes: list(z.enum([...scopeNames('member'), ...scopeNames('operator')]), 50),
    // 43 characters can hold 256 random bits. A short secret could be guessed from its unsalted digest.
    secret: optional(
      z
        .string()
        .regex(/^[A-Za-z0-9_-]{43,128}$/, 'must be 43 to 128 characters of A-Z, a-z, 0-9, _ and -'),
    ),
    /** Digests of secrets, from an export. */
    secrets: list(secretDigest, 2),
    createdBy: optional(id('per')),
    createdAt: time,
  })
  .superRefine((row, context) => {
    const must = (holds: boolean, field: keyof typeof row, message: string) => {
      if (!holds) context.addIssue({ code: 'custom', path: [field], message })
    }
    const { authMethod, jwks, jwksUri, redirectUris, secret, secrets } = row
    const isSite = row.kind === 'site'
    const hasSecret = secret !== null || secrets.length > 0
    const keyPlaces = Number(jwks !== null) + Number(jwksUri !== null)
    // A resource server introspects the tokens of its site, or all tokens if it has no site.
    must(!isSite || row.site !== null, 'site', 'must be set for kind "site"')
    for (const field of ['redirectUris', 'scopes'] as const) {
      const message = 'must be set for kind "site", and must be empty otherwise'
      must(isSite === row[field].length > 0, field, message)
    }
    const isOperator = row.operatorAt !== null
    const ofAudience = scopeNames(isOperator ? 'operator' : 'member')
    const areAllowed = row.scopes.every((scope) => ofAudience.includes(scope))
    must(
      areAllowed,
      'scopes',
      'must be operator scopes if operatorAt is set, and account scopes otherwise',
    )
    const isServer = isSite && authMethod !== 'none' && redirectUris.every(isHttps)
    must(
      !isOperator || isServer,
      'operatorAt',
      'must be null unless kind is "site", the client is confidential and all redirectUris use https',
    )
    must(isOperator || row.endlessAt === null, 'endlessAt', 'must be null unless operatorAt is set')
    must(isSite || authMethod !== 'none', 'authMethod', 'must not be "none" for a resource server')
    must(
      keyPlaces === Number(authMethod === 'private_key_jwt'),
      'jwks',
      'either "jwks" or "jwksUri" is required for private_key_jwt, and neither is allowed otherwise',
    )
    must(
      hasSecret === (authMethod === 'client_secret_post'),
      'secret',
      '"secret" or "secrets" is required for client_secret_post, and neither is allowed otherwise',
    )
    for (const field of ['jwksUri', 'backchannelLogoutUri'] as const) {
      const url = URL.parse(row[field] ?? '')
      const message = 'must have port 443, or the host and port of one of the redirectUris'
      must(!url || hasKnownPort(url, redirectUris), field, message)
    }
    for (const field of ['redirectUris', 'postLogoutRedirectUris'] as const) {
      for (const uri of row[field]) {
        const message = `${JSON.stringify(uri)} must be an https URL, an http URL with a loopback host or, for native applications, a URI with a custom scheme, without a fragment`
        must(mayReturnTo(uri, row.applicationType), field, message)
      }
    }
  })

export const application = kind({
  table: 'oauth_application',
  schema,
  key: ['clientId'],
  unkept: ['secret'],
  json: ['redirectUris', 'postLogoutRedirectUris', 'scopes'],
  inner: {
    parent: 'client_id',
    lists: [
      {
        field: 'secrets',
        also: 'secret',
        table: 'client_secret',
        key: ['id'],
        entriesOf: ({ clientId, secret, secrets, createdAt }) => {
          if (secret === null) return secrets
          const made = { id: `sec_${clientId}`, createdAt, expiresAt: null }
          return [...secrets, { ...made, digest: sha256(secret), hint: secretHint(secret) }]
        },
      },
    ],
  },
})
