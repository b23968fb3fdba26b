import { type Logger, pino } from 'pino'

/** The maximum size of a write. Each write wakes another thread, so fewer writes cost less. */
const LOG_WRITE_BYTES = 16_384
/** The maximum size with several workers. Writes of this size to a pipe are atomic, so shorter lines stay intact. */
const SHARED_LOG_WRITE_BYTES = 4096
/** Buffer space reserved for one more line. The buffer is written when less space is left. */
const LOG_LINE_BYTES = 512
/** The maximum time that a line stays in the buffer. */
const LOG_FLUSH_MS = 100

/** Opens the log: JSON lines on standard output. With several workers, each line has the process id. */
export function openLog(level: string, workers: number): Logger {
  const maxWrite = workers > 1 ? SHARED_LOG_WRITE_BYTES : LOG_WRITE_BYTES
  const destination = pino.destination({
    dest: 1,
    sync: false,
    contentMode: 'buffer',
    minLength: maxWrite - LOG_LINE_BYTES,
    maxWrite,
    periodicFlush: LOG_FLUSH_MS,
  })
  // With strings, the destination would measure its whole buffer at each line. Its type allows only strings, but the
  // destination also accepts buffers.
  const write = destination.write.bind(destination) as (line: string | Buffer) => boolean
  destination.write = (line) => write(Buffer.from(line))
  return pino({ level, base: workers > 1 ? { pid: process.pid } : null }, destination)
}
