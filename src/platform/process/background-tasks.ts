import type { Logger } from 'pino'

/** Work that nobody waits for. */
export interface BackgroundTask {
  /** What its failures are reported under. */
  readonly name: string
  readonly everySeconds: number
  /** The signal comes when the service stops, which waits for the task to end. */
  readonly run: (signal: AbortSignal) => Promise<unknown>
  /** Asked each time, where another process may be the one that does it. */
  readonly onlyWhen?: (() => boolean) | undefined
}

export interface TaskPorts {
  readonly logger: Logger
  /** Hears how each run ended. */
  readonly hear?: ((name: string, outcome: 'succeeded' | 'failed') => void) | undefined
}

/**
 * Runs each task every so often, never twice at once. Disposing of the result stops them and waits
 * for those that run.
 */
export function startBackgroundTasks(
  tasks: readonly BackgroundTask[],
  { logger, hear = () => {} }: TaskPorts,
): AsyncDisposable {
  const stopping = new AbortController()
  const stops = tasks.map((task) => repeatedly(task, { logger, hear }, stopping.signal))
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await Promise.all(stops.map((stop) => stop()))
    },
  }
}

interface Heard {
  readonly logger: Logger
  readonly hear: NonNullable<TaskPorts['hear']>
}

function repeatedly(
  { name, everySeconds, run, onlyWhen }: BackgroundTask,
  { logger, hear }: Heard,
  signal: AbortSignal,
) {
  let running: Promise<void> | undefined
  const attempt = async () => {
    if (signal.aborted) return
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
    // A turn that comes while the last one goes on is left out, so that none gather behind one that takes long.
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
}
