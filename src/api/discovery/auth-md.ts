import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { type Audience, catalogue } from '../../directory/scopes/catalogue.ts'
import { proofAlgorithms } from '../../oauth/clients/proofs.ts'
import { pages } from '../../platform/http/paths.ts'
import type { ServiceFacts } from './protected-resource.ts'
import { fillTemplate } from './template.ts'

const views = join(import.meta.dirname, '../../../views')

/** Renders /auth.md, the self-contained authentication walkthrough for agents and developers, from views/auth.md. */
export function authMd(facts: ServiceFacts): string {
  const { baseUrl, service, scopeUses, integrations } = facts
  const { name, lifetimes, loopbackHosts, metadataDocuments } = service
  return fillTemplate(readView('auth.md'), {
    ...guideValues(facts),
    base_url_encoded: encodeURIComponent(baseUrl),
    example_registration: inShell(exampleRegistration(name)),
    localhost: loopbackHosts.includes('localhost'),
    other_names: listWords(
      integrations.flatMap(({ other_names }) => other_names),
      'conjunction',
    ),
    connect: pages.connectHome,
    metadata_document_hosts:
      !metadataDocuments.openRegistration && listWords(metadataDocuments.sources, 'conjunction'),
    id_token_lives: inWords(lifetimes.idTokenSeconds),
    refresh_token_lives: inWords(lifetimes.refreshTokenSeconds),
    refresh_token_lives_in_all: inWords(lifetimes.refreshTokenAbsoluteSeconds),
    refresh_retry: lifetimes.refreshRetrySeconds > 0 && inWords(lifetimes.refreshRetrySeconds),
    pushed_requests: service.furtherPlans.pushedAuthorizationRequests,
    bound_tokens: service.furtherPlans.dpop,
    key_clients: service.furtherPlans.privateKeyJwt,
    sign_out_notices: service.furtherPlans.backChannelLogout,
    further_plans: Object.values(service.furtherPlans).includes(true),
    proof_algorithms: listWords(proofAlgorithms, 'disjunction'),
    documents_live: inWords(service.documents.cacheSeconds),
    identity_scopes: scopeTable('identity'),
    member_scopes: scopeTable('member'),
    operator_scopes: scopeTable('operator', scopeUses),
  })
}

/** Renders the short version of /auth.md, for the tool get_auth_guide. A test limits its length. */
export function authGuide(facts: ServiceFacts): string {
  return fillTemplate(readView('auth-guide.md'), guideValues(facts))
}

function guideValues({ baseUrl, service, integrations }: ServiceFacts) {
  const { name, lifetimes, loopbackHosts, metadataDocuments } = service
  return {
    service_name: name,
    base_url: baseUrl,
    loopback_hosts: listWords(loopbackHosts, 'disjunction'),
    known_platforms: listWords(
      integrations.map(({ client_name }) => client_name),
      'disjunction',
    ),
    metadata_documents: metadataDocuments.openRegistration || metadataDocuments.sources.length > 0,
    code_lives: inWords(lifetimes.authorizationCodeSeconds),
    access_token_lives: inWords(lifetimes.accessTokenSeconds),
  }
}

/** Renders /llms.txt, the index for language models (llmstxt.org), from views/llms.txt. */
export function llmsTxt({ baseUrl, service }: Pick<ServiceFacts, 'baseUrl' | 'service'>): string {
  return fillTemplate(readView('llms.txt'), { service_name: service.name, base_url: baseUrl })
}

function readView(file: string): string {
  return readFileSync(join(views, file), 'utf8')
}

function exampleRegistration(serviceName: string): string {
  return JSON.stringify({
    client_name: `${serviceName} example`,
    application_type: 'native',
    redirect_uris: ['http://127.0.0.1:8976/callback'],
    token_endpoint_auth_method: 'none',
  })
}

/** Escapes text for use inside single quotes in a shell. */
function inShell(text: string): string {
  return text.replaceAll("'", "'\\''")
}

/** Formats a duration in the largest exact unit: `600` is "10 minutes". */
function inWords(seconds: number): string {
  const [name, size] = units.find(([, size]) => seconds >= size && seconds % size === 0) ?? second
  const count = seconds / size
  return `${count} ${name}${count === 1 ? '' : 's'}`
}

const second = ['second', 1] as const
const units = [['day', 86_400], ['hour', 3600], ['minute', 60], second] as const

/** Formats words as a list in Markdown: "`a`, `b` and `c`". */
function listWords(words: readonly string[], type: 'conjunction' | 'disjunction'): string {
  return new Intl.ListFormat('en-GB', { type }).format(words.map((word) => `\`${word}\``))
}

/** Renders a Markdown table of an audience's scopes. With `uses`, adds the paths to which each scope grants access. */
function scopeTable(audience: Audience, uses?: ServiceFacts['scopeUses']): string {
  const opens = (name: string) =>
    uses ? [listWords(uses.addressesOf(name), 'conjunction') || 'nothing here yet'] : []
  const head = ['Scope', 'Access', 'Grants', ...(uses ? ['Opens'] : [])]
  const rows = catalogue
    .filter((scope) => scope.audience === audience)
    .map(({ name, access, grants }) => [`\`${name}\``, access, grants, ...opens(name)])
  const lines = [head, head.map(() => '---'), ...rows]
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n')
}
