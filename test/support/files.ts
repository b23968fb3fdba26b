import { paths } from '../../src/platform/http/paths.ts'
import { type Answer, answerOf } from './wire.ts'

/** A minimal file that the service recognizes as a PDF. */
export const pdf: Buffer<ArrayBuffer> = Buffer.from(
  '%PDF-1.7\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n',
)

/** A PNG of one pixel, which a browser can draw. */
export const png: Buffer<ArrayBuffer> = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
)

export interface Sending {
  readonly url: string
  readonly token: string | undefined
  readonly name: string
  readonly bytes: Uint8Array<ArrayBuffer> | ReadableStream
  readonly mediaType?: string
  readonly signal?: AbortSignal
}

export async function sendFile(sending: Sending): Promise<Answer> {
  const { url, token, name, bytes, mediaType = 'application/octet-stream', signal } = sending
  const query = name === '' ? '' : `?${new URLSearchParams({ name })}`
  const response = await fetch(url + paths.adminFiles + query, {
    method: 'POST',
    headers: { 'content-type': mediaType, ...(token && { authorization: `Bearer ${token}` }) },
    body: bytes,
    ...(signal && { signal }),
    // WHATWG Fetch requires this for a body that is a stream.
    duplex: 'half',
  } as RequestInit)
  return await answerOf(response)
}
