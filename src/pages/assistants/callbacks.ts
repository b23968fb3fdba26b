import type { Assistant, OwnCallback } from '../../config/assistant-table.ts'
import { isLoopbackHost } from '../../platform/http/loopback.ts'

/** The callbacks of an assistant, without those to a host of this machine that the service does not admit. */
export function callbacksOf(
  { callbacks }: Pick<Assistant, 'callbacks'>,
  loopbackHosts: readonly string[],
): string[] {
  return callbacks
    .map(({ uri }) => uri)
    .filter((uri) => {
      const { hostname, protocol } = new URL(uri)
      const onThisMachine = protocol === 'http:' && isLoopbackHost(hostname)
      return !onThisMachine || loopbackHosts.includes(hostname)
    })
}

/** Whether an address is the assistant's fixed one and one free segment behind it, and nothing else. */
export function isOwnCallback({ prefix }: Pick<OwnCallback, 'prefix'>, uri: string): boolean {
  return uri.startsWith(prefix) && /^[\w-]{1,128}$/.test(uri.slice(prefix.length))
}

/** An application as far as it matters who can come back to it. */
export interface Returning {
  readonly applicationType: 'web' | 'native'
  readonly redirectUris: readonly string[]
}

/**
 * Whether an assistant can be connected with an application that has these redirect addresses: one of its
 * callbacks is among them. The port of a loopback address does not count for a native application
 * (RFC 8252 §7.3), as it does not when the assistant comes back.
 */
export function canReturnTo(
  { callbacks, ownCallback }: Pick<Assistant, 'callbacks' | 'ownCallback'>,
  { applicationType, redirectUris }: Returning,
): boolean {
  const comparable = (uri: string) => (applicationType === 'native' ? withoutPort(uri) : uri)
  const registered = redirectUris.map(comparable)
  return (
    callbacks.some(({ uri }) => registered.includes(comparable(uri))) ||
    (ownCallback !== undefined && redirectUris.some((uri) => isOwnCallback(ownCallback, uri)))
  )
}

function withoutPort(uri: string): string {
  const url = URL.parse(uri)
  if (url?.protocol !== 'http:' || !isLoopbackHost(url.hostname)) return uri
  url.port = ''
  return url.href
}
