const proven = new WeakMap<object, string>()

/** Writes down that the client of a request has shown by a secret or a key who it is. */
export function proveClient(request: object | undefined, clientId: string): void {
  if (request) proven.set(request, clientId)
}

/**
 * The client of a request that has shown who it is. That a request names a client, or that the engine has found
 * it, says nothing: what is counted of a client must be what it did itself.
 */
export function provenClient(request: object): string | undefined {
  return proven.get(request)
}
