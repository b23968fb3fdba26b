import type { AccessToken } from '../../src/oauth/token/tokens.ts'

export function accessToken(changes: Partial<AccessToken> = {}): AccessToken {
  const scopes = changes.scopes ?? ['openid']
  return {
    kind: 'access',
    grant: {
      id: 'g',
      personId: 'per_sam',
      clientId: 'app',
      clientOrigin: 'site',
      siteId: 'sit_northlight',
      documentFingerprint: undefined,
      allowed: { openid: { scope: 'openid profile email' } },
      grantedAt: 1,
      expiresAt: Number.MAX_SAFE_INTEGER,
      endedBecause: undefined,
    },
    person: { id: 'per_sam', name: 'Sam', email: 'sam@example.com', picture: undefined },
    personDisabled: false,
    roles: ['student'],
    clientDisabled: false,
    clientDeleted: false,
    isApplication: true,
    featureOff: false,
    callerVersion: 1,
    family: {
      ...{ id: 'f', seed: 's', generation: 0, steps: [1], startedAt: 1, ended: false },
      token: { scopes, refreshes: true },
    },
    clientId: 'app',
    personId: 'per_sam',
    siteId: 'sit_northlight',
    scopes,
    issuedAt: 1,
    expiresAt: 9_000_000_000,
    audience: 'https://gatehouse.example',
    jkt: undefined,
    ...changes,
  }
}
