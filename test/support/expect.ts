import 'chai/register-expect.js'

declare global {
  /** A global of test files, like `describe` and `it`. Code that also runs outside Mocha imports it from chai. */
  const expect: Chai.ExpectStatic
}
