import type { Logger } from 'pino'

/** Periodic work that runs outside of requests. */
export interface BackgroundTask {
  readonly name: string
  readonly everySeconds: number
  /** Runs the task once. When the service stops, the signal aborts and the service waits for the run to end. */
  readonly run: (signal: AbortSignal) => Promise<unknown>
  /** Whether to run the task now, for tasks that only one process per host runs. */
  readonly onlyWhen?: (() => boolean) | undefined
}

/** Runs each task periodically, without overlap. Disposing the result aborts unfinished runs and waits for them. */
export function startBackgroundTasks(
  tasks: readonly BackgroundTask[],
  {
    logger,
    noteSuccess,
  }: { readonly logger: Logger; readonly noteSuccess?: (name: string) => void },
): AsyncDisposable {
  const stopping = new AbortController()
  const { signal } = stopping
  const stops = tasks.map(({ name, everySeconds, run, onlyWhen }) => {
    let running: Promise<void> | undefined
    const attempt = async () => {
      try {
        await run(signal)
        noteSuccess?.(name)
      } catch (error) {
        const line = { task: name, cause: String(error) }
        logger.warn(line, 'a background task failed and will be retried')
      }
    }
    const timer = setInterval(() => {
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
