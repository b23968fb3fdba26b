import { setTimeout as delay } from 'node:timers/promises'

import { obtainTokens, refresh, userinfo } from './client.ts'
import { eventually } from './programs.ts'

const FAMILIES = 3

/** Sends requests until `stop` is called: clients use and refresh tokens, and a member signs in repeatedly. */
export function startTraffic(url: string) {
  let running = true
  let count = 0
  const others: string[] = []
  const note = (what: string, status: number) => {
    count += 1
    if (status !== 200) others.push(`${what}: ${status}`)
  }
  const refreshing = Array.from({ length: FAMILIES }, async () => {
    let { accessToken, refreshToken } = await obtainTokens(url)
    while (running) {
      note('userinfo', (await userinfo(url, accessToken)).status)
      const answer = await refresh(url, refreshToken)
      note('refresh', answer.status)
      accessToken = answer.body.access_token
      refreshToken = answer.body.refresh_token
      await delay(5)
    }
  })
  const signingIn = async () => {
    while (running) {
      await obtainTokens(url)
      note('sign-in', 200)
      await delay(200)
    }
  }
  const all = Promise.all([...refreshing, signingIn()])
  return {
    async progress() {
      const target = count + 10 * FAMILIES
      await eventually(30_000, async () => {
        if (count < target) throw new Error(`${count} of ${target} answers`)
      })
    },
    async stop() {
      running = false
      await all
      return { count, others }
    },
  }
}
