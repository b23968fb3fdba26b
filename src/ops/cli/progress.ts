/** Says on standard error how far a long run is: one line that changes, or a line now and then. */
export interface Progress {
  /** How much is done, of one, and what there is to say of it. */
  at(share: number, what: string): void
  end(): void
}

const WIDTH = 30
const LINES = 10
/** What is over sooner needs no line of its own in a log. */
const SILENT_MS = 2000

export function showProgress(title: string): Progress {
  const { stderr } = process
  const startedMs = performance.now()
  let said = 0
  return {
    at(share, what) {
      const percent = Math.round(share * 100)
      if (stderr.isTTY) {
        const filled = Math.round(share * WIDTH)
        const bar = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}`
        stderr.write(`\r\u001b[K${title} ${bar} ${percent} % ${what}`)
      } else if (Math.floor(share * LINES) > said && performance.now() - startedMs > SILENT_MS) {
        said = Math.floor(share * LINES)
        stderr.write(`${title} ${percent} %: ${what}\n`)
      }
    },
    end() {
      if (stderr.isTTY) stderr.write('\r\u001b[K')
    },
  }
}
