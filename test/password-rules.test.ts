import { problemOfNewPassword } from '../src/directory/people/password-rules.ts'
import { english } from './support/sample-pages.ts'

const ada = { name: 'Ada Lovelace Byron', email: 'ada.lovelace@campus.example' }

const cases: readonly (readonly [password: string, problem: RegExp | undefined])[] = [
  ['fourteen chars', /at least 15 characters/],
  ['fifteen chars!!', undefined],
  ['𝒻𝒾𝒻𝓉𝑒𝑒𝓃 𝒸𝒽', /at least 15/],
  ['q1w2e3r4t5y6u7i8', /Many people/],
  ['PasswordPassword', /Many people/],
  ['111111111111111111', /Many people/],
  ['abcdabcdabcdabcd', /Many people/],
  ['qwertyqwertyqwerty', /Many people/],
  ['ADA LOVELACE BYRON', /your name/],
  ['ada.lovelace@campus.example', /e-mail address/],
  ['only lower case words', undefined],
  ['x'.repeat(1025), /at most 1024/],
  ['nul\0nul\0nul\0nul\0nul', /cannot be used/],
]

describe('new passwords', () => {
  for (const [password, problem] of cases) {
    it(`${problem ? 'rejects' : 'accepts'} ${JSON.stringify(password.slice(0, 30))}`, async () => {
      const found = await problemOfNewPassword(password, ada, 15)
      if (problem) expect(found?.for(english)).to.match(problem)
      else expect(found).to.equal(undefined)
    })
  }

  it('counts from the minimum of the deployment', async () => {
    expect(await problemOfNewPassword('eight ch', ada, 8)).to.equal(undefined)
    expect((await problemOfNewPassword('seven c', ada, 8))?.for(english)).to.match(/at least 8/)
  })
})
