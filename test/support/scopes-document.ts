import { catalogue, type Scope } from '../../src/directory/scopes/catalogue.ts'
import { type ClientOrigin, decideScopes } from '../../src/directory/scopes/policy.ts'
import { renderTable } from './markdown.ts'

const introduction = `Scopes of this service. No scope contains another: request both \`account:read\` and \`account:write\` to read and write.
Member scopes need \`resource\`, operator scopes an operator of the site. No token has scopes of both. The consent page
says "can see" or "can change" before its text.

| client | how it is known | may request |
| --- | --- | --- |
| application | an operator created it for the site | identity scopes, and the member scopes that the operator chose |
| platform | \`config/integrations.json\` | identity and operator scopes |
| local | self-registered with a loopback address | identity and operator scopes |
| document | Client ID Metadata Document | identity scopes and operator scopes to read; those to write after a review |`

const clients: readonly (readonly [name: string, origin: ClientOrigin, reviewed: boolean])[] = [
  ['application', 'site', true],
  ['platform', 'integration', true],
  ['local', 'loopback', true],
  ['document', 'document', false],
]

/** docs/reference/scopes.md, from the catalogue and the policy of scopes. */
export function renderScopes(): string {
  const rows = catalogue.map((scope) => {
    const { name, audience, grants, sentence } = scope
    return [`\`${name}\``, audience, grants, sentence, openTo(scope)]
  })
  return [
    introduction,
    renderTable(['scope', 'audience', 'grants', 'consent page', 'clients'], rows),
  ].join('\n\n')
}

function openTo({ name }: Scope): string {
  const open = clients.filter(([, origin, reviewed]) =>
    decideScopes({ origin, reviewed }).includes(name),
  )
  if (open.length === clients.length) return 'all'
  const names = open.map(([client]) => client)
  const reviewed = decideScopes({ origin: 'document', reviewed: true }).includes(name)
  return reviewed && !names.includes('document')
    ? [...names, 'reviewed document'].join(', ')
    : names.join(', ')
}
