type Make<Value> = (this: Mocha.Context) => Promise<Value>

/** Creates a value before the tests of a block. Disposes of it afterwards if it is disposable. */
export function shared<Value>(make: Make<Value>): () => Value {
  return keep(make, before, after)
}

/** Creates a value before each test of a block. Disposes of it after the test if it is disposable. */
export function fresh<Value>(make: () => Promise<Value>): () => Value {
  return keep(make, beforeEach, afterEach)
}

function keep<Value>(make: Make<Value>, begin: Mocha.HookFunction, end: Mocha.HookFunction) {
  let made: { readonly value: Value } | undefined
  begin(async function () {
    made = { value: await make.call(this) }
  })
  end(async () => {
    const value: Partial<AsyncDisposable> = Object(made?.value)
    made = undefined
    await value[Symbol.asyncDispose]?.()
  })
  return () => {
    if (!made) throw new Error('the value exists only while tests of its block run')
    return made.value
  }
}
