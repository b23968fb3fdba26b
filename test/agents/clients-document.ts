import { renderTable } from '../support/markdown.ts'
import { type Agent, agents } from './client-table.ts'
import { type WayName, wayNames, ways } from './ways.ts'

const introduction = `These MCP clients reached a tool of this service unmodified: set up as their own documentation says, signed in and
authorized in a browser, then called. \`npm run test:agents\` repeats it and fails if a client does something else than
the table says. A client with a model runs with a stub that calls one tool and repeats its answer.

**As a member**: an operator creates an application for the client (admin area, *OAuth applications*) with
\`account:read account:write\` and the redirect URI of the client. The client gets \`{base_url}/mcp/member\` and the
\`client_id\`. **As an operator**: the client gets \`{base_url}/mcp/admin\` only and registers itself with its loopback
address. Both addresses require a token at the first request, for clients that sign in only after a 401.

## Troubleshooting

- **The client requests every scope and gets \`invalid_scope\`.** No client may have all scopes: operator clients get no
  \`account:*\`, member clients no operator scope. Set the scopes in the client; the metadata of each address lists them
  (\`{base_url}/.well-known/oauth-protected-resource/mcp/member\`, \`…/mcp/admin\`).
- **The client requests no scope and gets \`invalid_scope\`.** Set the scopes if the client has an option for them.
- **The client has a \`client_id\`, requests \`account:read\` and gets \`invalid_scope\`.** It registered itself and ignores
  the \`client_id\`. Gemini CLI does so with \`oauth.enabled\`: remove that setting and sign in with \`/mcp auth\`.
- **The client is connected and sees public tools only.** It uses \`{base_url}/mcp\`, which also serves anonymous clients.
  Use one of the two addresses above.

## Results
`

export function renderClients(): string {
  const columns = [
    'client',
    'package',
    'set up by',
    ...wayNames.map((way) => `as ${way === 'member' ? 'a member' : 'an operator'}`),
  ]
  const rows = agents.map((client) => [
    client.name,
    `\`${client.package.name}\` ${client.package.version}`,
    client.setUp,
    ...wayNames.map((way) => resultOf(client, way)),
  ])
  return `${introduction}\n${renderTable(columns, rows)}`
}

function resultOf({ known }: Agent, way: WayName): string {
  const failing = known?.[way]
  return failing === undefined
    ? `calls \`${ways[way].tool}\``
    : `no: ${failing.reason}. Its user reads “${failing.sentence}”`
}
