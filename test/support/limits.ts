import type { ServicePolicy } from '../../src/config/config.ts'
import { limitTable } from '../../src/platform/limits/limit-table.ts'

/** By section of the configuration or by setting, the most that it takes. */
const WIDE: Readonly<Record<string, number>> = {
  limits: 1_000_000_000,
  mcp: 1_000_000,
  registration: 100_000,
  'signIn.signInsPerAccountMax': 1_000_000,
}

/** A configuration in which a flood of requests meets no limit, but for those of failed sign-ins. */
export function withoutLimits(policy: ServicePolicy): ServicePolicy {
  return widened(policy, WIDE)
}

/** One in which nobody may fail too often to sign in either, which no configuration file can say. */
export function withoutAnyLimit(policy: ServicePolicy): ServicePolicy {
  return widened(policy, { ...WIDE, signIn: 100_000_000 })
}

function widened(policy: ServicePolicy, wides: Readonly<Record<string, number>>) {
  const wide = structuredClone(policy)
  for (const { setting } of Object.values(limitTable)) {
    const [section = '', name = ''] = setting.split('.')
    const max = wides[setting] ?? wides[section]
    if (max !== undefined) Reflect.set(Reflect.get(wide, section), name, max)
  }
  return wide
}
