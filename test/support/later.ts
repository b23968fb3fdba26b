/** Runs work with this process's clock set forward, or back if `ms` is negative. */
export async function later<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const clock = Date.now
  Date.now = () => clock() + ms
  try {
    return await work()
  } finally {
    Date.now = clock
  }
}
