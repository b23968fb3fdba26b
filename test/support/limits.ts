import type { ServicePolicy } from '../../src/config/config.ts'
import { limitTable } from '../../src/platform/limits/limit-table.ts'

const WIDE: Readonly<Record<string, number>> = {
  limits: 1_000_000_000,
  mcp: 1_000_000,
  registration: 100_000,
  'signIn.signInsPerAccountMax': 1_000_000,
}

/** Returns a policy without limits, except for failed sign-ins. */
export function withoutLimits(policy: ServicePolicy): ServicePolicy {
  return widened(policy, WIDE)
}

/** Returns a policy without any limits. No configuration file allows this for failed sign-ins. */
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
