import type { ServiceFacts } from '../../src/api/discovery/protected-resource.ts'
import { readScope } from '../../src/directory/scopes/catalogue.ts'
import { defaultsInForce } from './figures.ts'
import { everyPlan } from './proofs.ts'

const { service } = defaultsInForce()

export const facts: ServiceFacts = {
  baseUrl: 'https://id.campus.example',
  service: {
    ...{ ...service, name: 'Campus' },
    metadataDocuments: { sources: ['claude.ai', 'vscode.dev'], openRegistration: false },
  },
  scopeUses: {
    addressesOf: (scope) => (scope === readScope('coupons') ? ['/admin/api/coupons'] : []),
    changeableAreas: () => [],
  },
  protocolVersions: ['2026-07-28', '2025-11-25'],
  integrations: [
    { client_name: 'Claude', other_names: [] },
    { client_name: 'Cursor', other_names: ['Cursor Nightly'] },
  ],
}

/** Facts with all optional protocols on. */
export const everyPlanFacts: ServiceFacts = {
  ...facts,
  service: { ...facts.service, furtherPlans: everyPlan },
}

export const strictFacts: ServiceFacts = {
  ...facts,
  service: {
    ...facts.service,
    metadataDocuments: { sources: [], openRegistration: false },
    loopbackHosts: ['127.0.0.1', '[::1]'],
    lifetimes: { ...facts.service.lifetimes, refreshRetrySeconds: 0 },
  },
  integrations: [],
}
