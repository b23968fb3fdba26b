import { renderTable } from './markdown.ts'
import { errorTables } from './reference-data.ts'

const introduction = `OAuth endpoints answer with the JSON of RFC 6749 §5.2: \`error\` and \`error_description\`. Pages show both and the id of
the request, which is also the \`X-Request-Id\` header and in the log. The description says what to do. Only the log, and
for site operators the page Refusals, has the reason why a credential was rejected.

A 503 decides nothing: repeat the same request after \`Retry-After\`. A 500 \`server_error\` contains only the id of its log
line; repeating the request does not help.

Errors of the authorization endpoint are redirected to the client with \`state\` and \`iss\`, once client and redirect URI
are valid; before that they are a page.`

/** docs/reference/errors.md, from test/data/errors.txt; test/errors.test.ts compares it with the code. */
export function renderErrors(): string {
  const [own = [], endpoints = [], resources = []] = errorTables.map(({ rows }) => rows)
  return [
    introduction,
    '## Errors of all endpoints and pages',
    renderTable(
      ['status', 'error', 'when', 'what to do'],
      own.map(([, status = '', error = '', when = '', advice = '']) => [
        status,
        `\`${error}\``,
        when,
        advice,
      ]),
    ),
    '## Errors of single endpoints',
    renderTable(
      ['endpoint', 'status', 'error', 'when'],
      endpoints.map(([endpoint = '', status = '', errors = '', when = '']) => [
        endpoint,
        status,
        codes(errors),
        when,
      ]),
    ),
    '## Protected resources',
    renderTable(
      ['status', 'error', 'when', 'challenge'],
      resources.map(([status = '', errors = '', when = '', challenge = '']) => [
        status,
        codes(errors),
        when,
        challenge,
      ]),
    ),
  ].join('\n\n')
}

function codes(errors: string): string {
  return errors
    .split(', ')
    .map((error) => `\`${error}\``)
    .join(', ')
}
