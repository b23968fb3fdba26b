import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { loopbackAddress } from '../../src/platform/http/loopback.ts'
import { type Answers, makeHeadlessPerson } from './headless-person.ts'
import type { RelyingParty, Tokens } from './relying-party.ts'

const CALLBACK_PATH = '/callback'

/** The default redirect URI. No server listens there: a sign-in without a browser reads the response from the redirect. */
export const loopbackRedirect: string = `http://${loopbackAddress}:8400${CALLBACK_PATH}`

const SIGN_IN_TIMEOUT_MS = 5 * 60_000

/** Signs a person in without a browser, through the actual pages. */
export async function signInWithoutBrowser(party: RelyingParty, answers: Answers): Promise<Tokens> {
  const authorization = await party.begin(loopbackRedirect)
  const person = makeHeadlessPerson(answers)
  return await authorization.finish(
    await person.authorize(authorization.start, authorization.redirectUri),
  )
}

/** Opens the browser for a person to sign in. Receives the response on a loopback port (RFC 8252 §7.3). */
export async function signInWithBrowser(party: RelyingParty): Promise<Tokens> {
  const server = createServer().listen(0, loopbackAddress)
  await once(server, 'listening')
  try {
    const { port } = server.address() as AddressInfo
    const authorization = await party.begin(`http://${loopbackAddress}:${port}${CALLBACK_PATH}`)
    openBrowser(authorization.start)
    return await authorization.finish(await waitForCallback(server, port))
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

function openBrowser(address: URL): void {
  process.stderr.write(`Sign in here if no browser opens:\n${address.href}\n`)
  const command = { darwin: 'open', win32: 'explorer' }[process.platform as string] ?? 'xdg-open'
  spawn(command, [address.href], { stdio: 'ignore', detached: true })
    .on('error', () => {
      // If no browser opens, the person can copy the printed URL.
    })
    .unref()
}

async function waitForCallback(server: Server, port: number): Promise<URL> {
  const { promise, resolve, reject } = Promise.withResolvers<URL>()
  const timer = setTimeout(
    () =>
      reject(new Error('the sign-in was not completed within five minutes; run the command again')),
    SIGN_IN_TIMEOUT_MS,
  )
  server.on('request', (request, response) => {
    const address = new URL(request.url ?? '/', `http://${loopbackAddress}:${port}`)
    const ours = address.pathname === CALLBACK_PATH
    response.writeHead(ours ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8' })
    response.end(ours ? 'You can close this page and return to the terminal.\n' : 'Not found.\n')
    if (ours) resolve(address)
  })
  try {
    return await promise
  } finally {
    clearTimeout(timer)
  }
}
