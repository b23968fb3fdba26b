import { type Logger, pino } from 'pino'

/** The size of a batch. Pipes accept writes of this size atomically, so lines from several processes do not mix. */
const LOG_WRITE_BYTES = 4096
/** The length of a long line. A batch is written once another line of this length might not fit. */
const LOG_LINE_BYTES = 512
/** How long a line may be buffered. */
const LOG_FLUSH_MS = 100

/** Opens the log: JSON lines on standard output. With several workers, each line has its process id. */
export function openLog(level: string, workers: number): Logger {
  return pino(
    { level, base: workers > 1 ? { pid: process.pid } : null },
    pino.destination({
      dest: 1,
      sync: false,
      minLength: LOG_WRITE_BYTES - LOG_LINE_BYTES,
      maxWrite: LOG_WRITE_BYTES,
      periodicFlush: LOG_FLUSH_MS,
    }),
  )
}
