import type { ServiceFacts } from '../../src/api/discovery/service-facts.ts'
import { readScope } from '../../src/directory/scopes/catalogue.ts'
import { everyPlan } from './proofs.ts'

export const facts: ServiceFacts = {
  baseUrl: 'https://id.campus.example',
  service: {
    name: 'Campus',
    metadataDocuments: { hosts: ['claude.ai', 'vscode.dev'], openRegistration: false },
    files: { fileBytesMax: 20_971_520, uploadSeconds: 25 },
    loopbackHosts: ['127.0.0.1', '[::1]', 'localhost'],
    lifetimes: {
      accessTokenSeconds: 3600,
      refreshTokenSeconds: 30 * 86_400,
      refreshTokenAbsoluteSeconds: 90 * 86_400,
      authorizationCodeSeconds: 60,
      idTokenSeconds: 600,
      refreshRetrySeconds: 10,
    },
    documents: { cacheSeconds: 300 },
    furtherPlans: {
      ...{ backChannelLogout: false, pushedAuthorizationRequests: false },
      ...{ dpop: false, privateKeyJwt: false },
    },
  },
  scopeUses: {
    addressesOf: (scope) => (scope === readScope('coupons') ? ['/admin/api/coupons'] : []),
  },
  protocolVersions: ['2026-07-28', '2025-11-25'],
  integrations: [
    { client_name: 'Claude', other_names: [] },
    { client_name: 'Cursor', other_names: ['Cursor Nightly'] },
  ],
}

/** Everything is on. */
export const everyPlanFacts: ServiceFacts = {
  ...facts,
  service: { ...facts.service, furtherPlans: everyPlan },
}

export const strictFacts: ServiceFacts = {
  ...facts,
  service: {
    ...facts.service,
    metadataDocuments: { hosts: [], openRegistration: false },
    loopbackHosts: ['127.0.0.1', '[::1]'],
    lifetimes: { ...facts.service.lifetimes, refreshRetrySeconds: 0 },
  },
  integrations: [],
}
