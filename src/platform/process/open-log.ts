import { type Logger, pino } from 'pino'

/** A pipe takes this many bytes in one piece, so lines of several processes do not mix. */
const LOG_WRITE_BYTES = 4096

/** A long line of the log; a batch is written when another such line may not fit. */
const LOG_LINE_BYTES = 512
/** The longest that a line waits to be written with others. */
const LOG_FLUSH_MS = 100

/** Opens the log: JSON lines on standard output. With workers each line has the id of its process. */
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
