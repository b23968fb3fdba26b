import { problemOfNewPassword } from '../src/directory/people/password-rules.ts'
import { english } from './support/sample-pages.ts'

const ada = { name: 'Ada Lovelace Byron', email: 'ada.lovelace@campus.example' }

const cases: readonly [password: string, problem: RegExp | undefined, min?: number][] = [
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
  ['eight ch', undefined, 8],
  ['seven c', /at least 8/, 8],
]

describe('new passwords', () => {
  for (const [password, problem, min = 15] of cases) {
    const shown = JSON.stringify(password.slice(0, 30))
    it(`${problem ? 'rejects' : 'accepts'} ${shown} with a minimum of ${min}`, async () => {
      const found = await problemOfNewPassword(password, ada, min)
      if (problem) expect(found?.for(english)).to.match(problem)
      else expect(found).to.equal(undefined)
    })
  }
})
