/** Asks for one document; the caller has put into it all that makes the request safe. */
export type RequestDocument = () => Promise<Response>

export interface FetchFailure {
  readonly why: string
  /** Whether the host said that the document is not there any more, so that no copy may stand in. */
  readonly gone: boolean
}

// The draft's own limit (§6.6), which is also that of the engine.
const DOCUMENT_BYTES_MAX = 5120

/**
 * Reads a document: 200, JSON by its media type, small and in UTF-8. A redirect is not followed and a
 * page is not a document. Never throws.
 */
export async function readDocument(
  request: RequestDocument,
): Promise<{ text: string; cacheControl: string | null } | FetchFailure> {
  try {
    const response = await request()
    const problem = problemOf(response)
    if (problem) {
      await response.body?.cancel()
      return problem
    }
    const bytes = await readBytes(response)
    if (bytes === undefined) return failed(`it is larger than ${DOCUMENT_BYTES_MAX} bytes`)
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return { text, cacheControl: response.headers.get('cache-control') }
  } catch (error) {
    return failed(reasonOf(error))
  }
}

function problemOf({ status, headers }: Response): FetchFailure | undefined {
  if (status !== 200) {
    return failed(`its host answered with status ${status}`, status === 404 || status === 410)
  }
  const mediaType = headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? ''
  if (/^application\/([\w.+-]+\+)?json$/.test(mediaType)) return undefined
  return failed('its media type is not JSON')
}

async function readBytes({ body }: Response): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  // Leaving the loop early cancels the stream, and with it the connection.
  for await (const chunk of body ?? []) {
    length += chunk.length
    if (length > DOCUMENT_BYTES_MAX) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function failed(why: string, gone = false): FetchFailure {
  return { why, gone }
}

/** fetch() says "fetch failed" and keeps the reason in the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}
