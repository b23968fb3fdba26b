import { setTimeout as delay } from 'node:timers/promises'

/**
 * Creates a function that combines calls made within a short time into one call to `work`, and so into one statement
 * and one commit. Each caller gets the result or the error of that call.
 */
export function inBatches<Value, Result>(
  work: (values: readonly Value[]) => Promise<Result>,
  withinMs: number,
): (value: Value) => Promise<Result> {
  let batch: { readonly values: Value[]; readonly result: Promise<Result> } | undefined
  const begin = () => {
    const values: Value[] = []
    const result = delay(withinMs).then(async () => {
      batch = undefined
      return await work(values)
    })
    return { values, result }
  }
  return async (value) => {
    batch ??= begin()
    batch.values.push(value)
    return await batch.result
  }
}
