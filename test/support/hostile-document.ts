import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { apiCases } from '../hostile/api-cases.ts'
import { authorizationCases } from '../hostile/authorization-cases.ts'
import type { CaseTable } from '../hostile/case.ts'
import { clientEndpointCases } from '../hostile/client-endpoint-cases.ts'
import { connectionCases } from '../hostile/connection-cases.ts'
import { grantCases } from '../hostile/grant-cases.ts'
import { pageCases } from '../hostile/page-cases.ts'
import { redirectCases } from '../hostile/redirect-cases.ts'
import { registrationCases } from '../hostile/registration-cases.ts'
import { tokenKindCases } from '../hostile/token-kind-cases.ts'
import { toolCases } from '../hostile/tool-cases.ts'

/**
 * The part of docs/hostile-cases.md that the tables of test/hostile are;
 * `node test/support/hostile-document.ts` writes it again.
 */
export const hostileDocument: string = join(import.meta.dirname, '../../docs/hostile-cases.md')

/** Every table, in the order of the document. */
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

const BEGIN = '<!-- what follows is written by test/support/hostile-document.ts -->\n'

/** The document as it should be: what people wrote, and the tables. */
export function withTables(document: string): string {
  const [written = ''] = document.split(BEGIN)
  const sections = caseTables.map(({ title, file, cases }) => {
    const rows = cases.map(({ number, attack, answer }) => {
      const [code = '', ...then] = answer.split('; ')
      const said = [`\`${code}\``, ...then].join('; ')
      return `| ${number} | ${attack} | ${said} | \`${file}\` "${title}" |`
    })
    return [
      `### ${title}`,
      '',
      '| case | attack | answer | test |',
      '| --- | --- | --- | --- |',
      ...rows,
    ].join('\n')
  })
  return `${written}${BEGIN}\n${sections.join('\n\n')}\n`
}

if (import.meta.main) {
  writeFileSync(hostileDocument, withTables(readFileSync(hostileDocument, 'utf8')))
}
