import { once } from 'node:events'
import { connect, getCACertificates, setDefaultCACertificates } from 'node:tls'

const SHOWN_WITHIN_MS = 10_000

/**
 * Makes this process trust the certificate of a suite for all later requests, such as sign-out notices to the suite.
 * The certificate of a local suite is self-signed.
 *
 * @throws Error if no suite responds with a certificate
 */
export async function trustSuite(suiteBaseUrl: string): Promise<void> {
  const { hostname: host, port } = new URL(suiteBaseUrl)
  // Accept any certificate here, because nothing is sent.
  const socket = connect({
    host,
    port: Number(port || 443),
    servername: host,
    rejectUnauthorized: false,
  })
  try {
    const signal = AbortSignal.timeout(SHOWN_WITHIN_MS)
    await once(socket, 'secureConnect', { signal })
    const shown = socket.getPeerX509Certificate()
    if (shown) setDefaultCACertificates([...getCACertificates('default'), shown.toString()])
  } catch (cause) {
    throw new Error(`${suiteBaseUrl} does not present a certificate. Start the suite first.`, {
      cause,
    })
  } finally {
    socket.destroy()
  }
}
