/** Creates a value before the tests of a block. Disposes of it afterwards if it is disposable. */
export function shared<Value>(make: (this: Mocha.Context) => Promise<Value>): () => Value {
  let made: { readonly value: Value } | undefined
  before(async function () {
    made = { value: await make.call(this) }
  })
  after(async () => {
    const value: Partial<AsyncDisposable> = Object(made?.value)
    await value[Symbol.asyncDispose]?.()
  })
  return () => {
    if (!made) throw new Error('the value exists only while tests of its block run')
    return made.value
  }
}
