/** The label for authenticator app secrets. A label binds an encrypted secret to its use or row. */
export const appLabel = () => 'the secret of an authenticator app'
export const endpointLabel = (id: string) => `secret of the webhook endpoint ${id}`
export const providerLabel = (id: string) => `client secret of the identity provider ${id}`

/** The tables whose column `sealed_secret` is encrypted with the root secret: content, table, key and label. */
export const sealedSecrets = [
  ['authenticator apps', 'totp', 'person_id', appLabel],
  ['webhooks', 'webhook_endpoint', 'id', endpointLabel],
  ['identity providers of sites', 'identity_provider', 'id', providerLabel],
] as const
