import type { ServicePolicy } from '../../src/config/config.ts'
import { limitTable } from '../../src/platform/limits/limit-table.ts'

const WIDE: Readonly<Record<string, number>> = {
  limits: 1_000_000_000,
  mcp: 1_000_000,
  registration: 100_000,
  'signIn.signInsPerAccountMax': 1_000_000,
}

/** Returns a policy without the limits of `limits`, `mcp` and `registration`, and without `signInsPerAccountMax`. */
export function withoutLimits(policy: ServicePolicy, wides = WIDE): ServicePolicy {
  const wide = structuredClone(policy)
  for (const { setting } of Object.values(limitTable)) {
    const [section = '', name = ''] = setting.split('.')
    const max = wides[setting] ?? wides[section]
    if (max !== undefined) Reflect.set(Reflect.get(wide, section), name, max)
  }
  return wide
}

/** Like `withoutLimits`, but also without the other limits of `signIn`, which no configuration file can lift. */
export function withoutAnyLimit(policy: ServicePolicy): ServicePolicy {
  return withoutLimits(policy, { ...WIDE, signIn: 100_000_000 })
}
