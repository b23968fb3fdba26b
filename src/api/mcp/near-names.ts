const NEAR_MAX = 3

/** The names that share the most words with one that is unknown, the nearest first. */
export function nearNames(wanted: string, names: readonly string[]): string[] {
  const words = new Set(wordsOf(wanted))
  return names
    .map((name) => ({ name, shared: wordsOf(name).filter((word) => words.has(word)).length }))
    .filter(({ shared }) => shared > 0)
    .sort((one, other) => other.shared - one.shared)
    .slice(0, NEAR_MAX)
    .map(({ name }) => name)
}

/** `listCourses` and `list-course` share both words with `list_courses`. */
function wordsOf(name: string): string[] {
  return name
    .slice(0, NAME_LENGTH_MAX)
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .map((word) => word.replace(/s$/, ''))
    .filter((word) => word !== '')
}

const NAME_LENGTH_MAX = 200
