/** The failure of a command that still prints a report. */
export class CommandRefused extends Error {
  override readonly name = 'CommandRefused'
  readonly report: string
  /** The exit code of the process. */
  readonly exitCode: number

  constructor(report: string, message: string, exitCode = 1) {
    super(message)
    this.report = report
    this.exitCode = exitCode
  }
}

/** Makes untrusted text one line that is safe for a terminal: without control and direction characters. */
export function asOneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
}
