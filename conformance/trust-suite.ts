import { once } from 'node:events'
import { connect, getCACertificates, setDefaultCACertificates } from 'node:tls'

const SHOWN_WITHIN_MS = 10_000

/**
 * Trusts the certificate that a suite shows, as everything does that this process asks from now on: a
 * suite on this machine has one that nobody vouches for, and it is told of sign-outs.
 *
 * @throws a sentence when no suite shows a certificate there
 */
export async function trustSuite(suiteBaseUrl: string): Promise<void> {
  const { hostname: host, port } = new URL(suiteBaseUrl)
  // Only looked at here, and nothing is sent.
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
    throw new Error(`${suiteBaseUrl} shows no certificate. Start the suite first.`, { cause })
  } finally {
    socket.destroy()
  }
}
