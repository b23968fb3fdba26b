/** Shows progress on standard error: a bar on a terminal, otherwise a few lines. */
export interface Progress {
  step(what: string): void
  end(): void
}

const WIDTH = 30
const LINES = 10

export function showProgress(title: string, steps: number): Progress {
  const { stderr } = process
  let taken = 0
  return {
    step(what) {
      const filled = Math.round((taken / steps) * WIDTH)
      const bar = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}`
      const percent = Math.round((taken / steps) * 100)
      if (stderr.isTTY) stderr.write(`\r\u001b[K${title} ${bar} ${percent} % ${what}`)
      else if (taken % Math.ceil(steps / LINES) === 0)
        stderr.write(`${title} ${percent} %: ${what}\n`)
      taken += 1
    },
    end() {
      if (stderr.isTTY) stderr.write('\r\u001b[K')
    },
  }
}
