import type { Logger } from 'pino'

/** Work that nobody waits for. */
export interface BackgroundTask {
  readonly everySeconds: number
  readonly run: () => Promise<unknown>
  /** Asked each time, where another process may be the one that does it. */
  readonly onlyWhen?: (() => boolean) | undefined
}

/**
 * Runs each task every so often, never twice at once. Disposing of the result stops them and waits
 * for those that run.
 */
export function startBackgroundTasks(
  tasks: readonly BackgroundTask[],
  logger: Logger,
): AsyncDisposable {
  const stops = tasks.map((task) => repeatedly(task, logger))
  return {
    [Symbol.asyncDispose]: async () => void (await Promise.all(stops.map((stop) => stop()))),
  }
}

function repeatedly({ everySeconds, run, onlyWhen }: BackgroundTask, logger: Logger) {
  let running = Promise.resolve()
  const attempt = async () => {
    try {
      await run()
    } catch (error) {
      logger.warn({ cause: String(error) }, 'a background task failed and will be tried again')
    }
  }
  const timer = setInterval(() => {
    if (onlyWhen?.() === false) return
    running = running.then(attempt)
  }, everySeconds * 1000)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await running
  }
}
