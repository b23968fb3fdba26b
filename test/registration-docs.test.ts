import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { sharedService } from './support/shared-service.ts'

const text = readFileSync(join(import.meta.dirname, '../docs/how-to/register-a-client.md'), 'utf8')
const example =
  /```sh\ncurl http:\/\/127\.0\.0\.1:3000(\S+) \\\n {2}-H 'Content-Type: (\S+)' \\\n {2}-d '([^\n]*)'\n```\n\n```json\n(\d{3})\n(.*?)\n```/gs

describe('docs/how-to/register-a-client.md', () => {
  const service = sharedService()
  const examples = [...text.matchAll(example)]

  it('has an answer for every request', () => {
    expect(examples).to.have.length([...text.matchAll(/```sh/g)].length)
    expect(examples).to.have.length(4)
  })

  for (const [, path = '', type = '', body = '', status, answer = ''] of examples) {
    it(`shows what the service answers to ${body}`, async () => {
      const response = await fetch(service().url + path, {
        method: 'POST',
        headers: { 'content-type': type },
        body,
      })
      expect(String(response.status)).to.equal(status)
      const received = (await response.json()) as Record<string, unknown>
      const told = answer.replaceAll('http://127.0.0.1:3000', service().url)
      const expected = JSON.parse(told) as Record<string, unknown>
      expect(Object.keys(received)).to.have.members(Object.keys(expected))
      for (const [member, value] of Object.entries(expected)) {
        if (value === '<id>') expect(received[member]).to.match(/^loopback_/)
        else if (value === '<time>') expect(received[member]).to.be.a('number')
        else expect(received[member], member).to.deep.equal(value)
      }
    })
  }

  it('names the limits as they are configured', () => {
    const { registration } = service().config.service
    expect(text).to.include(`more than ${registration.registrationsPerAddressMax} registrations`)
    expect(registration.registrationWindowSeconds).to.equal(600)
    expect(registration.idleClientSeconds).to.equal(90 * 86_400)
    expect(registration.callbacksPerPlatformMax).to.equal(10_000)
    expect(text).to.include('A platform has 10 000 of them at most')
    expect(registration.unusedCallbackSeconds).to.equal(86_400)
    expect(registration.idleCallbackSeconds).to.equal(180 * 86_400)
  })
})
