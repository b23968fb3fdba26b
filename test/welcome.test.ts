import { welcomeText } from '../src/platform/process/welcome.ts'

it('the welcome names the command that obtains a token of this service', () => {
  const started = { startedInMs: 1, workers: 1, demoPeople: [] }
  const said = 'npm run token -- --base-url http://127.0.0.1:4711\n'
  expect(welcomeText({ ...started, baseUrl: 'http://127.0.0.1:4711' })).to.include(said)
  const usual = welcomeText({ ...started, baseUrl: 'http://127.0.0.1:3000' })
  expect(usual).to.match(/npm run token\n/)
})
