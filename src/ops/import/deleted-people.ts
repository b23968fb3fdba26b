import type { Database } from '../../platform/store/database.ts'
import type { ReadLine } from './read-records.ts'
import { referencesIn } from './record-rows.ts'

/**
 * Separates the lines of people who deleted their accounts, so an import does not create these people again. Also
 * removes such people from the lecturers of courses.
 */
export async function leaveOutDeleted({ kysely }: Database, lines: readonly ReadLine[]) {
  const named = ({ record: { type, id, values } }: ReadLine) =>
    type === 'person'
      ? [id]
      : referencesIn(values).flatMap((to) => (to.kind === 'person' ? to.id : []))
  const rows = await kysely
    .selectFrom('person')
    .select('id')
    .where('id', 'in', ['', ...new Set(lines.flatMap(named))])
    .where('deleted_at', 'is not', null)
    .execute()
  const deleted = new Set<unknown>(rows.map(({ id }) => id))
  const isLeft = ({ record: { type, id, values } }: ReadLine) =>
    deleted.has(type === 'person' ? id : values['person'])
  const others = lines.filter((line) => !isLeft(line))
  return {
    left: lines.filter(isLeft),
    lines: others.map(({ line, record }): ReadLine => {
      const lecturers = (record.values['lecturers'] ?? []) as readonly string[]
      if (!lecturers.some((id) => deleted.has(id))) return { line, record }
      const kept = lecturers.filter((id) => !deleted.has(id))
      return { line, record: { ...record, values: { ...record.values, lecturers: kept } } }
    }),
  }
}
