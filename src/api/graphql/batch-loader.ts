type FindAll<Value> = (keys: readonly string[]) => Promise<Map<string, Value>>

/** Finds a value by key. All lookups with the same name in the same tick share one call to `findAll`. */
export type OneOfMany = <Value>(
  name: string,
  findAll: FindAll<Value>,
  key: string,
) => Promise<Value | undefined>

/** Creates the batch loader of one request, similar to DataLoader. */
export function makeOneOfMany(): OneOfMany {
  const waiting = new Map<string, { keys: Set<string>; found: Promise<Map<string, unknown>> }>()

  const begin = (name: string, findAll: FindAll<unknown>) => {
    const keys = new Set<string>()
    // graphql-js resolves a field of all nodes in a list in the same tick. One microtask later, all keys are known.
    const found = Promise.resolve().then(async () => {
      waiting.delete(name)
      return await findAll([...keys])
    })
    const batch = { keys, found }
    waiting.set(name, batch)
    return batch
  }

  return async <Value>(name: string, findAll: FindAll<Value>, key: string) => {
    const { keys, found } = waiting.get(name) ?? begin(name, findAll)
    keys.add(key)
    // Calls with the same name pass equivalent `findAll` functions, so their values have the same type.
    return (await found).get(key) as Value | undefined
  }
}
