import { open } from 'node:fs/promises'

/** Takes whole lines; they are kept, as far as the place keeps anything, when the promise is. */
export type EventSink = (lines: readonly string[]) => Promise<void>

/** Where events go: to a stream of the process, or to the end of a file that only its owner reads. */
export function openEventSink(place: string): EventSink {
  if (place === 'stdout' || place === 'stderr') return toStream(process[place])
  return async (lines) => await toFile(place, lines)
}

function toStream(stream: NodeJS.WriteStream): EventSink {
  return async (lines) => {
    // One at a time, so that a line is not cut by one of the log.
    for (const line of lines) {
      await new Promise<void>((resolve, reject) => {
        stream.write(`${line}\n`, (error) => (error ? reject(error) : resolve()))
      })
    }
  }
}

/** It is opened each time, so that somebody may move the file away. */
async function toFile(path: string, lines: readonly string[]): Promise<void> {
  await using file = await open(path, 'a+', 0o600)
  const { size } = await file.stat()
  const last = size === 0 ? undefined : await file.read({ position: size - 1, length: 1 })
  // A process that was killed may have left half a line; what it was comes again below.
  const mended = last === undefined || last.buffer.toString('utf8', 0, 1) === '\n' ? '' : '\n'
  await file.writeFile(`${mended}${lines.join('\n')}\n`)
  await file.datasync()
}
