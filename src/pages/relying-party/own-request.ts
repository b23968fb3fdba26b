import type { RequestListener } from 'node:http'

/** As `fetch`, for addresses of this service. */
export type OwnFetch = (
  address: string,
  request: {
    readonly method: 'GET' | 'POST'
    readonly headers: Record<string, string>
    readonly body?: unknown
    /** The address of whom it is for, who is counted for what becomes of it. */
    readonly from?: string
  },
) => Promise<Response>

/**
 * Requests to this service that do not leave the process. They go through every middleware and the
 * same endpoint as a stranger's, yet need no network: behind a proxy a service can often not reach
 * itself under its own address, and it would occupy a second connection for each sign-in.
 *
 * @param handler the application with the keys that sign now
 */
export function makeOwnFetch(handler: () => RequestListener): OwnFetch {
  return async (address, { method, headers, body, from }) => {
    // Few processes ever sign anybody in to our own pages, and a start should not wait for it.
    const { inject } = await import('light-my-request')
    const { pathname } = new URL(address)
    const payload = body === undefined ? {} : { payload: String(body) }
    const {
      statusCode,
      headers: answered,
      rawPayload,
    } = await inject(handler(), {
      method,
      url: pathname,
      headers,
      ...(from !== undefined && { remoteAddress: from }),
      ...payload,
    })
    return new Response(new Uint8Array(rawPayload), {
      status: statusCode,
      headers: { 'content-type': String(answered['content-type']) },
    })
  }
}
