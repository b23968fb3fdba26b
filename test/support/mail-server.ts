import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'

import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

import { makeCertificate } from '../../conformance/certificate.ts'

const { certificate: cert, privateKey: key } = makeCertificate('127.0.0.1')

export interface Received {
  readonly from: string
  readonly to: readonly string[]
  readonly content: string
  readonly secure: boolean
  readonly user: string | undefined
}

export type MailServerOptions = SMTPServerOptions & {
  /** Called with each message and the open connections, before the server accepts the message. */
  readonly before?: (received: Received, sockets: Iterable<Socket>) => Promise<void>
}

/** Starts a real SMTP server on this machine. */
export async function startMailServer({ before, ...settings }: MailServerOptions = {}) {
  const received: Received[] = []
  const sockets = new Set<Socket>()
  const server = new SMTPServer({
    authOptional: true,
    closeTimeout: 10,
    key,
    cert,
    ...settings,
    onData: (stream, { envelope, secure, user }, done) => {
      const answer = async () => {
        const message = {
          from: envelope.mailFrom ? envelope.mailFrom.address : '',
          to: envelope.rcptTo.map(({ address }) => address),
          content: await text(stream),
          secure,
          user: user === undefined ? undefined : String(user),
        }
        await before?.(message, sockets)
        received.push(message)
      }
      answer().then(() => done(), done)
    },
  })
  server.server.on('connection', (socket) => sockets.add(socket))
  // The tests break connections on purpose.
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    received,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((closed) => server.close(closed))
    },
  }
}

/** Creates an error with which the server rejects a command. */
export function smtpError(responseCode: number, message = 'rejected'): Error {
  return Object.assign(new Error(message), { responseCode })
}
