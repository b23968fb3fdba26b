import { renderTable } from '../support/markdown.ts'
import { type Agent, agents } from './client-table.ts'
import { type WayName, wayNames, ways } from './ways.ts'

const introduction = `\`npm run test:agents\` tests these MCP clients, unmodified: it sets up each client as its documentation says, signs in and
authorizes in a browser, and calls a tool. It fails if the result differs from the table. A client with a language model
runs with a stub that calls one tool and repeats the result.

**As a member**, the client uses \`{base_url}/mcp/member\`, and the \`client_id\` of an application that an operator created
for it (admin area, *OAuth applications*) with \`account:read account:write\` and the client's redirect URI. **As an
operator**, it uses only \`{base_url}/mcp/admin\`, and registers itself with a loopback redirect URI. Both URLs respond
with 401 to requests without a token, because some clients sign in only after a 401.

## Troubleshooting

- **The client requests all scopes and gets \`invalid_scope\`.** No client may have all scopes: operator clients get no
  \`account:*\` scope, and member clients get no operator scope. Set the scopes in the client. The metadata of each URL
  lists them (\`{base_url}/.well-known/oauth-protected-resource/mcp/member\`, \`…/mcp/admin\`).
- **The client requests no scope and gets \`invalid_scope\`.** Set the scopes if the client has an option for them.
- **The client has a \`client_id\`, requests \`account:read\` and gets \`invalid_scope\`.** It ignores the \`client_id\` and has
  registered itself. Gemini CLI does so if \`oauth.enabled\` is set: remove that setting and sign in with \`/mcp auth\`.
- **The client connects, but shows only public tools.** It uses \`{base_url}/mcp\`, which also accepts anonymous requests.
  Use one of the two URLs above.

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
    : `no: ${failing.reason}. The user sees “${failing.sentence}”`
}
