import type { Database } from '../../platform/store/database.ts'
import {
  demoPeople,
  holdsDemoCampus,
  isEmpty,
  loadCampus,
  RowsExist,
  readCampusFolder,
} from './load.ts'

/** What a start knows of the demo campus. */
export interface DemoSettings {
  readonly demoFolder: string
  readonly mayServeDemo: boolean
  readonly baseUrl: string
  /** The interface that is listened on. */
  readonly host: string
  readonly databaseUrl: string | undefined
  readonly hashPassword: (password: string) => Promise<string>
  readonly now: () => number
}

export type DemoPeople = ReturnType<typeof demoPeople>

/**
 * Loads the demo campus where it belongs, and refuses to serve it where it does not: its passwords
 * are public, so that a service with it that others can reach would be open to everybody.
 *
 * @returns the people to tell of; none where the demo campus is not served
 */
export async function settleDemo(database: Database, settings: DemoSettings): Promise<DemoPeople> {
  const { demoFolder, mayServeDemo, databaseUrl, hashPassword, now } = settings
  if (await holdsDemoCampus(database)) {
    if (!mayServeDemo) throw new Error(demoRefusal(settings))
    return demoPeople(await readCampusFolder(demoFolder))
  }
  // A database of the operator's own is never filled by a start; `import` does that when asked.
  if (!mayServeDemo || databaseUrl !== undefined || !(await isEmpty(database))) return []
  const campus = await readCampusFolder(demoFolder)
  try {
    await loadCampus({ database, campus, hashPassword, now, demo: true })
  } catch (error) {
    // Another process of this host was faster.
    if (!(error instanceof RowsExist)) throw error
  }
  return demoPeople(campus)
}

function demoRefusal({ baseUrl, host, databaseUrl }: DemoSettings): string {
  const where = databaseUrl ? 'the database of DATABASE_URL' : 'the embedded database'
  return (
    `Gatehouse cannot start: ${where} holds the demo campus, whose passwords are public, and ` +
    `BASE_URL is ${baseUrl}, HOST ${host}. Set DEMO_DATA=on if that is what you want, or use an empty database.`
  )
}
