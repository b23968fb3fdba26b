import { pages, paths } from '../src/platform/http/paths.ts'
import { authorizeUrl, openAuthorization } from './support/client.ts'
import { amir, startService } from './support/gatehouse.ts'
import { makePagePerson } from './support/page-person.ts'

// test/pages.test.ts renders every page with this name.
it('the name in config/service.json is the only one on pages of the running service', async () => {
  const name = 'Harbour & Hill'
  await using service = await startService({ policy: (policy) => ({ ...policy, name }) })
  const { url } = service
  const { browser } = makePagePerson(url, amir)
  const signIn = await openAuthorization(browser, url)
  const person = makePagePerson(url, amir)
  await person.visit(pages.account)
  const refused = authorizeUrl(url, { client_id: 'nobody' })
  for (const [opened, { open }] of [
    ...[pages.welcome, paths.graphql, refused, signIn].map((each) => [each, browser] as const),
    ...[pages.account, pages.admin, paths.endSession].map((each) => [each, person] as const),
  ]) {
    const page = await open(new URL(opened, url), { headers: { accept: 'text/html' } })
    const markup = await page.text()
    expect(markup, String(opened)).to.match(/<title>[^<]+ – Harbour &#38; Hill<\/title>/)
    expect(markup, String(opened)).not.to.include('Gatehouse')
  }
})
