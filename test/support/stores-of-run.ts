// biome-ignore lint/style/noProcessEnv: the command that starts a run chooses its stores
const { TEST_STORES: chosen = 'sqlite' } = process.env

if (!['sqlite', 'servers', 'all'].includes(chosen)) {
  throw new Error(`TEST_STORES is ${chosen}; set it to sqlite, servers or all.`)
}

/** Stores of the run: SQLite (`npm test`), servers (`npm run test:servers`), or `TEST_STORES=all`. */
export const storesOfRun = { sqlite: chosen !== 'servers', servers: chosen !== 'sqlite' } as const

/** `npm run test:servers` selects suites by these words. */
const NAMES_A_SERVER = /PostgreSQL|Redis/

/** Defines a suite that needs PostgreSQL or Redis. Its title names the server. */
export function describeOnServers(title: string, suite: (this: Mocha.Suite) => void): void {
  if (!NAMES_A_SERVER.test(title)) throw new Error(`"${title}" must name PostgreSQL or Redis.`)
  if (storesOfRun.servers) describe(title, suite)
}
