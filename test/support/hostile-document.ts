import { apiCases } from '../hostile/api-cases.ts'
import { authorizationCases } from '../hostile/authorization-cases.ts'
import type { CaseTable, HostileCase } from '../hostile/case.ts'
import { clientEndpointCases } from '../hostile/client-endpoint-cases.ts'
import { connectionCases } from '../hostile/connection-cases.ts'
import { grantCases } from '../hostile/grant-cases.ts'
import { pageCases } from '../hostile/page-cases.ts'
import { redirectCases } from '../hostile/redirect-cases.ts'
import { registrationCases } from '../hostile/registration-cases.ts'
import { tokenKindCases } from '../hostile/token-kind-cases.ts'
import { toolCases } from '../hostile/tool-cases.ts'
import { type Annotation, renderTestFile, renderTests } from './annotations.ts'
import { code, page, renderTable } from './markdown.ts'
import { attackClasses, hostileCases } from './reference-data.ts'

export const caseTables: readonly CaseTable[] = [
  redirectCases,
  authorizationCases,
  clientEndpointCases,
  grantCases,
  tokenKindCases,
  registrationCases,
  apiCases,
  toolCases,
  pageCases,
  connectionCases,
]

const introduction = `Attacks on authorization servers, collected from advisories about other servers and from RFC 9700. Each row has the
response of this service and the test that shows it. To find the test of a case below 1000, search the file for the
number. Numbers are never reused. Advisories are named only if we have read them.`

const tablesIntroduction = `Each row is a test in the file named below the heading. The test also checks that the response is not a 5xx, that it
contains no token, secret, stack trace or SQL, and that the service keeps working without errors in its log. The
responses mean:`

const answers = [
  ['`400 invalid_grant`', 'status and error code of the protocol (OAuth, GraphQL, JSON-RPC)'],
  ['`page 400 invalid_client`', 'an error page without redirect, script or framing'],
  [
    '`redirect invalid_scope`',
    'an error at the redirect URI of the client, with `state` and `iss` once and no code',
  ],
  ['`the sign-in`', 'the addition is ignored and the sign-in page shown'],
  ['`to /account`', 'a redirect to another page of this service'],
  ['`200 inactive`, `200 nothing`', 'introspection and revocation reveal nothing about the token'],
  ['`not valid`', 'GraphQL rejected the document before execution'],
]

/** docs/reference/hostile-cases.md, from test/data, the tables of test/hostile and the annotations of the tests. */
export function renderHostileCases(annotations: readonly Annotation[]): string {
  const single = hostileCases.map(({ title, rows }) => {
    const cells = rows.map((row) => [...row, renderTests(row[0] ?? '', annotations)])
    return page(`## ${title}`, renderTable(['case', 'attack', 'answer', 'tests'], cells))
  })
  const classes = attackClasses.flatMap(({ rows }) =>
    rows.map((row) => [...row, renderTests(`class ${row[0]}`, annotations)]),
  )
  return page(
    introduction,
    ...single,
    '## Classes',
    'What many advisories have in common.',
    renderTable(['class', 'what happens', 'tests'], classes),
    '## Tables',
    tablesIntroduction,
    renderTable(['answer', 'meaning'], answers),
    ...caseTables.map(renderCaseTable),
  )
}

function renderCaseTable({ title, file, cases }: CaseTable): string {
  const single = cases.filter(({ repeated }) => repeated === undefined)
  const blocks = Map.groupBy(groupRepeated(cases), ({ places }) => places.join(', '))
  return page(
    `### ${title}`,
    `Tests: ${renderTestFile(file)}`,
    ...[...blocks].flatMap(([places, groups]) => [
      `Each for several places, in the order of the numbers: ${places}.`,
      renderTable(['cases', 'attack', 'answer'], groups.map(rowOfGroup)),
    ]),
    ...(single.length === 0 ? [] : [renderTable(['case', 'attack', 'answer'], single.map(rowOf))]),
  )
}

interface Group {
  readonly attack: string
  readonly places: readonly string[]
  readonly cases: readonly HostileCase[]
}

function groupRepeated(cases: readonly HostileCase[]): Group[] {
  const repeated = cases.filter((each) => each.repeated !== undefined)
  const groups = Map.groupBy(repeated, (each) => each.repeated?.[0] ?? '')
  return [...groups].map(([attack, members]) => ({
    attack,
    places: members.map((member) => {
      const [, then] = member.answer.split('; ')
      return placeOf(member) + (then === undefined ? '' : ` (${then})`)
    }),
    cases: members,
  }))
}

function placeOf({ repeated }: HostileCase): string {
  return repeated?.[1] ?? ''
}

function rowOfGroup({ attack, cases }: Group): string[] {
  const byCode = Map.groupBy(cases, ({ answer }) => answer.split('; ', 1)[0] ?? '')
  const [usual, ...others] = [...byCode].sort(([, one], [, two]) => two.length - one.length)
  const exceptions = others.map(
    ([answer, members]) => `${members.map(placeOf).join(', ')} ${code(answer)}`,
  )
  const numbers = cases.map(({ number }) => number).join(', ')
  return [numbers, attack, [code(usual?.[0] ?? ''), ...exceptions].join('; ')]
}

function rowOf({ number, attack, answer }: HostileCase): string[] {
  const [result = '', ...then] = answer.split('; ')
  return [String(number), attack, [code(result), ...then].join('; ')]
}
