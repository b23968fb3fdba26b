/** A command that has a report to print although it fails. */
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

/**
 * Foreign text as one line that is safe for a terminal: without characters that move its cursor, change its
 * colors or its title, or turn the direction of text.
 */
export function asOneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
}
