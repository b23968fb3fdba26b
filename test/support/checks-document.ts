import { checks, found } from '../../src/ops/doctor/checks.ts'
import { renderTable } from './markdown.ts'

const introduction = `Findings of \`npm run gatehouse -- doctor\`. \`wrong\` does not work or is not allowed: exit code 1. \`weak\` works but
helps an attacker: exit code 3. \`note\` is information. \`--json\` prints
\`{"findings": [{"severity", "sentence", "check", "section", "cure"}]}\`.`

/** docs/reference/doctor.md, from the table of checks. */
export function renderChecks(): string {
  const rows = (Object.keys(checks) as (keyof typeof checks)[]).map((name) => {
    const { severity, section = '', cure = '' } = found(name, '')
    return [`\`${name}\``, severity, section, cure]
  })
  return [introduction, renderTable(['finding', 'severity', 'standard', 'what to do'], rows)].join(
    '\n\n',
  )
}
