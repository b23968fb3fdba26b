import { type Logger, pino } from 'pino'

/** The maximum size of a write. Pipes accept this size atomically, so lines of several processes do not mix. */
const LOG_WRITE_BYTES = 4096
/** Buffer space reserved for one more line. The buffer is written when less space is left. */
const LOG_LINE_BYTES = 512
/** The maximum time that a line stays in the buffer. */
const LOG_FLUSH_MS = 100

/** Opens the log: JSON lines on standard output. With several workers, each line has the id of its process. */
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
