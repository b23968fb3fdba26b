import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'

import { expect } from 'chai'

import { addressOf, pages, paths } from '../src/platform/http/paths.ts'
import { sam } from './support/gatehouse.ts'
import { makePagePerson } from './support/page-person.ts'
import { limitRows } from './support/reference-data.ts'
import { sharedService } from './support/shared-service.ts'

/** The documented limits of endpoints, sign-in pages and pages for signed-in people. */
const [atEndpoint = 0, atSignIn = 0, whenSignedIn = 0] =
  limitRows
    .find(([what = '']) => what.startsWith('Form body'))?.[1]
    ?.match(/\d+/g)
    ?.map((figure) => Number(figure) * 1024) ?? []

describe('the documented limits of forms', () => {
  const service = sharedService()

  const form = (bytes: number) => ({
    method: 'POST',
    body: `x=${'x'.repeat(bytes - 2)}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })

  it('apply to an OAuth endpoint', async () => {
    // The form comes back in the Location header, which is too long for fetch.
    const status = async (bytes: number) => {
      const { body, ...rest } = form(bytes)
      const asked = request(service().url + paths.authorization, {
        ...rest,
        maxHeaderSize: 131_072,
      })
      const [response] = (await once(asked.end(body), 'response')) as [IncomingMessage]
      response.resume()
      return response.statusCode
    }
    expect(await status(atEndpoint)).to.equal(303)
    expect(await status(atEndpoint + 1)).to.equal(413)
  })

  for (const [where, address, limit] of [
    ['a page of a sign-in', addressOf(pages.login, { uid: 'x' }), atSignIn],
    ['a page for signed-in people', pages.removeApp, whenSignedIn],
  ] as const) {
    it(`apply to ${where}`, async () => {
      const person = makePagePerson(service().url, sam)
      await person.visit(pages.account)
      expect((await person.open(address, form(limit))).status).to.equal(403)
      expect((await person.open(address, form(limit + 1))).status).to.equal(413)
    })
  }
})
