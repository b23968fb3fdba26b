const MINUTE_MS = 60_000

export const fetchBounds = {
  runningMax: 16,
  runningPerHostMax: 4,
  perMinuteMax: 120,
  perMinuteAndHostMax: 30,
}

/**
 * Limits outgoing requests that unauthenticated callers can cause. Any authorization request can name a URL. Rejects
 * excess requests instead of queueing them, because a queue could be flooded too. Counting is per process.
 */
export function makeFetchGovernor(now: () => number, bounds: typeof fetchBounds) {
  // Fetches that started within the last minute or are still running.
  let recent: { readonly host: string; readonly startedAtMs: number; running: boolean }[] = []
  const fits = (fetches: typeof recent, running: number, perMinute: number) =>
    fetches.length < perMinute && fetches.filter((fetch) => fetch.running).length < running

  return {
    /** Counts a fetch. @returns a function to call when the fetch is done; undefined if a limit is reached */
    begin(host: string) {
      const minuteAgoMs = now() - MINUTE_MS
      recent = recent.filter(({ startedAtMs, running }) => running || startedAtMs > minuteAgoMs)
      const ofHost = recent.filter((fetch) => fetch.host === host)
      if (!fits(recent, bounds.runningMax, bounds.perMinuteMax)) return undefined
      if (!fits(ofHost, bounds.runningPerHostMax, bounds.perMinuteAndHostMax)) return undefined
      const fetch = { host, startedAtMs: now(), running: true }
      recent.push(fetch)
      return () => {
        fetch.running = false
      }
    },
  }
}
