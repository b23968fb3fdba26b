import { once } from 'node:events'
import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/** Sends a form to an endpoint of this service and gives its JSON answer. */
export type OwnRequest = (path: string, form: URLSearchParams) => Promise<unknown>

/**
 * A request to this service that does not leave the process. It goes through every middleware and
 * the same endpoint as a stranger's, yet needs no network: behind a proxy a service can often not
 * reach itself under its own address, and it would occupy a second connection for each sign-in.
 */
export function makeOwnRequest(listener: () => RequestListener): OwnRequest {
  return async (path, form) => {
    const body = form.toString()
    const written: Buffer[] = []
    const socket = new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        written.push(chunk)
        done()
      },
    }) as Socket
    const request = new IncomingMessage(socket)
    Object.assign(request, {
      // A request that ends before it is complete counts as aborted, and takes its socket along.
      complete: true,
      method: 'POST',
      url: path,
      headers: {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': String(Buffer.byteLength(body)),
      },
    })
    request.push(body)
    request.push(null)
    const response = new ServerResponse(request)
    response.assignSocket(socket)
    const finished = once(response, 'finish')
    const closed = once(response, 'close')
    listener()(request, response as Parameters<RequestListener>[1])
    await Promise.race([finished, closed])
    socket.destroy()
    const [, answer = ''] = Buffer.concat(written).toString('utf8').split('\r\n\r\n')
    return JSON.parse(answer)
  }
}
