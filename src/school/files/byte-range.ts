import type { ByteRange } from './file-storage.ts'

/**
 * The one range that a Range header asks for of a file (RFC 9110 §14). Nothing when the whole file
 * should be sent: for several ranges and for what is no range, both of which a server may ignore.
 */
export function rangeOf(header: string, sizeBytes: number): ByteRange | 'beyond' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header) ?? []
  if (first === '' && last === '') return undefined
  if (first === '') {
    const length = Math.min(Number(last), sizeBytes)
    return length === 0 ? 'beyond' : { start: sizeBytes - length, end: sizeBytes - 1 }
  }
  const start = Number(first)
  const end = last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1)
  if (last !== '' && Number(last) < start) return undefined
  return start < sizeBytes ? { start, end } : 'beyond'
}
