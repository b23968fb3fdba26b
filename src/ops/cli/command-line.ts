import type { parseArgs } from 'node:util'

/** The options of all commands. */
export const options = {
  action: { type: 'string' },
  client: { type: 'string' },
  'dry-run': { type: 'boolean' },
  events: { type: 'boolean' },
  force: { type: 'boolean' },
  help: { type: 'boolean' },
  json: { type: 'boolean' },
  'keep-grants': { type: 'boolean' },
  missing: { type: 'string' },
  outside: { type: 'boolean' },
  person: { type: 'string' },
  rejects: { type: 'string' },
  since: { type: 'string' },
  site: { type: 'string' },
  until: { type: 'string' },
  upstream: { type: 'boolean' },
  yes: { type: 'boolean' },
} as const

/** The input of a command: its options, and the argument after its name, if any. */
export interface Given
  extends Readonly<ReturnType<typeof parseArgs<{ options: typeof options }>>['values']> {
  readonly argument: string
}

/** The error of a command that failed but has a report to print. */
export class CommandRefused extends Error {
  override readonly name = 'CommandRefused'
  readonly report: string
  readonly exitCode: number

  constructor(report: string, message: string, exitCode = 1) {
    super(message)
    this.report = report
    this.exitCode = exitCode
  }
}

/** Makes untrusted text safe for a terminal: one line, without control and formatting characters. */
export function asOneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
}
