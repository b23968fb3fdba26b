import { once } from 'node:events'
import { type Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'

import { paths } from '../src/http/paths.ts'
import { type Era, eras, messageOf, operatorToken } from '../test/support/mcp.ts'
import { memberToken } from '../test/support/member-api.ts'
import { configWith, startProcess } from '../test/support/process.ts'
import { measure } from './load.ts'

/**
 * `node bench/mcp.ts [seconds]`: processor time that a service process of its own spends on one
 * request of the tool endpoint, verification of the token and the embedded database included.
 */
const seconds = Math.min(60, Number(process.argv[2] ?? 3))

interface Work {
  readonly name: string
  readonly who: 'anonymous' | 'member' | 'operator'
  readonly method: string
  readonly params: Record<string, unknown>
}

const call = (who: Work['who'], name: string, values: object = {}): Work => ({
  name: `call ${name}`,
  who,
  method: 'tools/call',
  params: { name, arguments: values },
})

const work: readonly Work[] = [
  { name: 'list tools', who: 'anonymous', method: 'tools/list', params: {} },
  { name: 'list tools', who: 'member', method: 'tools/list', params: {} },
  call('anonymous', 'get_service_info'),
  call('anonymous', 'list_public_courses', { site: 'northlight' }),
  call('member', 'get_viewer'),
  call('member', 'list_enrolled_courses'),
  call('operator', 'list_site_courses'),
]

async function main(): Promise<void> {
  const folder = configWith((policy) => ({
    ...policy,
    mcp: { ...policy.mcp, requestsPerAddressMax: 1_000_000, requestsPerCallerMax: 1_000_000 },
  }))
  await using service = await startProcess({ CONFIG_DIR: folder, LOG_LEVEL: 'silent' })
  const { url, pid } = service
  const tokens = {
    anonymous: undefined,
    member: await memberToken(url),
    operator: await operatorToken(url, 'courses:read'),
  }
  process.stdout.write(
    `node ${process.version}\n\n| request | by | revision | requests/s | processor µs |\n|-|-|-|-|-|\n`,
  )
  for (const { name, who, method, params } of work) {
    for (const era of eras) {
      const send = sender(url, { era, method, params, token: tokens[who] })
      // The first second compiles the code paths.
      await measure(pid, 1, send)
      const { perSecond, microseconds } = await measure(pid, seconds, send)
      process.stdout.write(
        `| ${name} | ${who} | ${era} | ${perSecond.toFixed(0)} | ${microseconds.toFixed(0)} |\n`,
      )
    }
  }
}

interface Sent {
  readonly era: Era
  readonly method: string
  readonly params: Record<string, unknown>
  readonly token: string | undefined
}

function sender(url: string, { era, method, params, token }: Sent) {
  const { message, headers } = messageOf(method, era, params)
  const body = JSON.stringify(message)
  const sent = {
    ...headers,
    'content-length': Buffer.byteLength(body),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }
  return async (agent: Agent): Promise<void> => {
    const outgoing = request(url + paths.mcp, { agent, method: 'POST', headers: sent })
    outgoing.end(body)
    const [answer] = await once(outgoing, 'response')
    const received = await text(answer)
    if (answer.statusCode !== 200 || !received.includes('"result"')) throw new Error(received)
  }
}

await main()
