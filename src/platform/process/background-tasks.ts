import type { Logger } from 'pino'

/** Work that no request waits for. */
export interface BackgroundTask {
  /** Its name in the log and in metrics. */
  readonly name: string
  readonly everySeconds: number
  /** The signal comes when the service stops, which waits for the task to end. */
  readonly run: (signal: AbortSignal) => Promise<unknown>
  /** Asked each time, if one process does it for all. */
  readonly onlyWhen?: (() => boolean) | undefined
}

export interface TaskPorts {
  readonly logger: Logger
  /** Gets the end of each run. */
  readonly hear?: ((name: string, outcome: 'succeeded' | 'failed') => void) | undefined
}

/** Runs each task periodically, never twice at once, until the result is disposed of, which waits for the last runs. */
export function startBackgroundTasks(
  tasks: readonly BackgroundTask[],
  { logger, hear = () => {} }: TaskPorts,
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
        logger.warn(line, 'a background task failed and will be tried again')
      }
    }
    const timer = setInterval(() => {
      // Skipped while the last run goes on, so that runs do not pile up behind a slow one.
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
