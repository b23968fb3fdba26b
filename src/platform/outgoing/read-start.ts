/**
 * Reads the first `bytesMax` bytes of a response. If there are more, cancels the stream, which closes the connection.
 *
 * @returns the bytes, and whether the response is longer
 */
export async function readStart({ body }: Pick<Response, 'body'>, bytesMax: number) {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of body ?? []) {
    parts.push(part)
    length += part.length
    if (length > bytesMax) break
  }
  return { bytes: Buffer.concat(parts).subarray(0, bytesMax), isLonger: length > bytesMax }
}
