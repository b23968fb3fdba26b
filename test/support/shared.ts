type Make<Value> = (this: Mocha.Context) => Promise<Value>

/** Creates a value before the tests of a block. Disposes of it afterwards if it is disposable. */
export function shared<Value>(make: Make<Value>): () => Value {
  return keep(make, before, after)
}

/** Creates a value before each test of a block. Disposes of it after the test if it is disposable. */
export function fresh<Value>(make: () => Promise<Value>): () => Value {
  return keep(make, beforeEach, afterEach)
}

/** Returns a function that calls `make` and caches its results by their arguments. */
export function cached<Key extends string[], Value>(make: (...key: Key) => Value) {
  const made = new Map<string, Value>()
  return (...key: Key): Value => {
    const value = made.get(key.join()) ?? make(...key)
    made.set(key.join(), value)
    return value
  }
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
