/** Returns the error with which a promise rejects. Throws if the promise fulfills. */
export async function rejection(work: Promise<unknown>): Promise<Error> {
  const outcome = await work.then(
    () => new Error('the promise fulfilled, but should have rejected'),
    (error: unknown) => ({ error }),
  )
  if (outcome instanceof Error) throw outcome
  return outcome.error instanceof Error ? outcome.error : new Error(String(outcome.error))
}
