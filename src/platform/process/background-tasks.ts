import type { Logger } from 'pino'

/** Periodic work that no request waits for. */
export interface BackgroundTask {
  /** For the log and the metrics. */
  readonly name: string
  readonly everySeconds: number
  /** The signal aborts when the service stops; the service waits for the run to end. */
  readonly run: (signal: AbortSignal) => Promise<unknown>
  /** Skips a run if false, for tasks that only one process of the host runs. */
  readonly onlyWhen?: (() => boolean) | undefined
}

type Hear = (name: string, outcome: 'succeeded' | 'failed') => void

/**
 * Runs each task periodically, without overlap. Disposing of the result waits for the last runs. `hear` receives the
 * outcome of each run.
 */
export function startBackgroundTasks(
  tasks: readonly BackgroundTask[],
  { logger, hear = () => {} }: { readonly logger: Logger; readonly hear?: Hear },
): AsyncDisposable {
  const stopping = new AbortController()
  const { signal } = stopping
  const stops = tasks.map(({ name, everySeconds, run, onlyWhen }) => {
    let running: Promise<void> | undefined
    const attempt = async () => {
      try {
        await run(signal)
        hear(name, 'succeeded')
      } catch (error) {
        hear(name, 'failed')
        const line = { task: name, cause: String(error) }
        logger.warn(line, 'a background task failed and will be retried')
      }
    }
    const timer = setInterval(() => {
      // Skip while the previous run continues, so that runs do not pile up.
      if (running || onlyWhen?.() === false) return
      running = attempt().finally(() => {
        running = undefined
      })
    }, everySeconds * 1000)
    timer.unref()
    return async () => {
      clearInterval(timer)
      await running
    }
  })
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await Promise.all(stops.map((stop) => stop()))
    },
  }
}
