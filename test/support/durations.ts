const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** "90 days": the largest unit that fits. */
export function renderDuration(seconds: number): string {
  const [name, length] = units.find(([, unit]) => seconds >= unit) ?? (['second', 1] as const)
  const count = Math.round(seconds / length)
  return `${count} ${name}${count === 1 ? '' : 's'}`
}
