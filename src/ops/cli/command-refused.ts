/** A command that has a report to print although it ends with an error. */
export class CommandRefused extends Error {
  override readonly name = 'CommandRefused'
  readonly report: string
  /** What the process ends with. */
  readonly exitCode: number

  constructor(report: string, message: string, exitCode = 1) {
    super(message)
    this.report = report
    this.exitCode = exitCode
  }
}
