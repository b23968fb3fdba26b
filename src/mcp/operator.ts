import type { z } from 'zod'

import { callerOf } from './public-tools.ts'
import { defineTool, type Tool, type ToolCall, type ToolDefinition, ToolProblem } from './tool.ts'

interface OperatorDefinition<Input extends z.ZodType, Output extends z.ZodType>
  extends Omit<ToolDefinition<Input, Output>, 'access'> {
  readonly scope: string
}

/**
 * A tool over the data of the token's own site. That the person still operates the site is part of
 * the verdict on the token, which is asked anew for every call (design 15).
 */
export function operatorTool<Input extends z.ZodType, Output extends z.ZodObject>({
  scope,
  ...definition
}: OperatorDefinition<Input, Output>): Tool {
  return defineTool({ ...definition, access: { kind: 'scopes', needed: [scope] } })
}

/** The site of the token; no argument of any tool can name another. */
export function siteOf(call: ToolCall): string {
  const { siteId } = callerOf(call)
  if (siteId === undefined) throw new ToolProblem('This token is not bound to a site.')
  return siteId
}
