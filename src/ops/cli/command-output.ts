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

/** Makes untrusted text safe for a terminal: one line, without control and direction characters. */
export function asOneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
}
