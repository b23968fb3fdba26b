/**
 * Collects the keys that are asked for in one turn and finds all of them with one call, so that a
 * field of every node of a page costs one statement and not one for each node.
 */
export function makeBatch<Key, Value>(
  findAll: (keys: readonly Key[]) => Promise<Map<Key, Value>>,
): (key: Key) => Promise<Value | undefined> {
  let waiting: { keys: Set<Key>; found: Promise<Map<Key, Value>> } | undefined

  const begin = () => {
    const keys = new Set<Key>()
    // graphql-js asks for a field of all nodes of a list without a pause between them.
    const found = Promise.resolve().then(async () => {
      waiting = undefined
      return await findAll([...keys])
    })
    return { keys, found }
  }

  return async (key) => {
    waiting ??= begin()
    waiting.keys.add(key)
    return (await waiting.found).get(key)
  }
}
