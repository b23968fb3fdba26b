import { apiCases } from '../../test/hostile/api-cases.ts'
import { authorizationCases } from '../../test/hostile/authorization-cases.ts'
import type { CaseTable, HostileCase } from '../../test/hostile/case.ts'
import { clientEndpointCases } from '../../test/hostile/client-endpoint-cases.ts'
import { connectionCases } from '../../test/hostile/connection-cases.ts'
import { grantCases } from '../../test/hostile/grant-cases.ts'
import { pageCases } from '../../test/hostile/page-cases.ts'
import { redirectCases } from '../../test/hostile/redirect-cases.ts'
import { registrationCases } from '../../test/hostile/registration-cases.ts'
import { tokenKindCases } from '../../test/hostile/token-kind-cases.ts'
import { toolCases } from '../../test/hostile/tool-cases.ts'
import { type Annotation, renderTestFile, renderTests } from '../../test/support/annotations.ts'
import { code, page, renderTable, type Tables } from '../../test/support/markdown.ts'
import { attackClasses, hostileCases } from '../../test/support/reference-data.ts'

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

/** Creates tables of docs/reference from test/data, test/hostile and the annotations of the tests. */
export function hostileTables(annotations: readonly Annotation[]): Tables {
  const single = hostileCases.map(({ title, rows }) => {
    const cells = rows.map((row) => [...row, renderTests(row[0] ?? '', annotations)])
    return page(`## ${title}`, renderTable(['case', 'attack', 'answer', 'tests'], cells))
  })
  const classes = attackClasses.flatMap(({ rows }) =>
    rows.map((row) => [...row, renderTests(`class ${row[0]}`, annotations)]),
  )
  return {
    'single-cases': () => page(...single),
    'attack-classes': () => renderTable(['class', 'what happens', 'tests'], classes),
    'case-tables': () => page(...caseTables.map(renderCaseTable)),
  }
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
