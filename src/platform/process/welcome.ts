/** The content of the start-up message. */
export interface Welcome {
  readonly baseUrl: string
  readonly startedInMs: number
  readonly workers: number
  readonly demoPeople: readonly DemoPerson[]
}

/** A person on the demo campus, whose password is public. */
export interface DemoPerson {
  readonly login: string
  readonly password: string
  readonly what: string
}

/** The default base URL of `npm run token` (tools/token/token.ts). */
const TOKEN_BASE_URL = 'http://127.0.0.1:3000'

/** Formats the start-up message: the URLs of the service and, with the demo campus, its people. */
export function welcomeText({ baseUrl, startedInMs, workers, demoPeople }: Welcome): string {
  const several = workers > 1 ? `, ${workers} workers` : ''
  const lines = [
    `Gatehouse serves ${baseUrl} (started in ${Math.round(startedInMs)} ms${several})`,
    `  discovery   ${baseUrl}/.well-known/openid-configuration`,
    `  walkthrough ${baseUrl}/auth.md`,
    `  a token     npm run token${baseUrl === TOKEN_BASE_URL ? '' : ` -- --base-url ${baseUrl}`}`,
  ]
  if (demoPeople.length > 0) lines.push('Demo people (public passwords):')
  for (const { login, password, what } of demoPeople) lines.push(`  ${login}  ${password}  ${what}`)
  return `${lines.join('\n')}\n`
}
