type FindAll<Value> = (keys: readonly string[]) => Promise<Map<string, Value>>

/**
 * Finds something for one of many nodes: all keys that are asked for in one turn under one name are found
 * with one call, so that a field of every node of a page costs one statement. A call has at least one key.
 */
export type OneOfMany = <Value>(
  name: string,
  findAll: FindAll<Value>,
  key: string,
) => Promise<Value | undefined>

/** Makes the batches of one request. */
export function makeOneOfMany(): OneOfMany {
  const waiting = new Map<string, { keys: Set<string>; found: Promise<Map<string, unknown>> }>()

  const begin = (name: string, findAll: FindAll<unknown>) => {
    const keys = new Set<string>()
    // graphql-js asks for a field of all nodes of a list without a pause between them.
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
    // Every name has one kind of value, which its own area gave it.
    return (await found).get(key) as Value | undefined
  }
}
