import { parseRequestParams, type Request, type RequestParams, type Response } from 'graphql-http'

/**
 * The parameters of a request. Nothing is kept under a hash here, because a document is small and its
 * hash says nothing of who wrote it. A client that sends a hash alone is told so in the words that it
 * knows, and sends the whole document then.
 */
export async function readParameters<Raw>(
  request: Request<Raw, unknown>,
): Promise<RequestParams | Response> {
  try {
    return await parseRequestParams(request)
  } catch (error) {
    // graphql-http answers it: the parameters are none, for one of several reasons.
    if (!(await sendsHashOnly(request))) throw error
    return NOT_SUPPORTED
  }
}

/** As Apollo's servers answer: 200, because the client goes on by itself. */
const NOT_SUPPORTED: Response = [
  JSON.stringify({
    errors: [
      {
        message: 'PersistedQueryNotSupported',
        extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED' },
      },
    ],
  }),
  {
    status: 200,
    statusText: 'OK',
    headers: { 'content-type': 'application/json; charset=utf-8' },
  },
]

/** Whether a request has the hash of a document and no document. */
async function sendsHashOnly<Raw>({ method, url, body }: Request<Raw, unknown>): Promise<boolean> {
  const { query, extensions } =
    method === 'GET' ? inAddress(url) : inBody(typeof body === 'function' ? await body() : body)
  const { persistedQuery } = Object(extensions) as { persistedQuery?: unknown }
  return query == null && typeof persistedQuery === 'object' && persistedQuery !== null
}

interface Sent {
  readonly query?: unknown
  readonly extensions?: unknown
}

function inAddress(url: string): Sent {
  const search = new URLSearchParams(url.split('?')[1])
  return { query: search.get('query'), extensions: inBody(search.get('extensions')) }
}

/** A JSON object, or nothing of one. */
function inBody(text: unknown): Sent {
  try {
    return Object(JSON.parse(String(text))) as Sent
  } catch {
    return {}
  }
}
