import { nearNames } from './near-names.ts'
import type { ToolCall } from './tool.ts'
import { addressFor, audienceOf } from './tool-address.ts'
import { listedTools, toolCatalogue } from './tool-catalogue.ts'

/** What is said of a tool that an address does not have: where it is, or what is near. */
export function unknownToolWords(name: string, { caller, address, parts }: ToolCall): string {
  const elsewhere = toolCatalogue.find((tool) => tool.name === name)
  const audience = elsewhere && audienceOf(elsewhere)
  if (audience) {
    const { path } = addressFor(audience)
    return `The tool ${name} is not at this address: connect to ${parts.service.baseUrl}${path}.`
  }
  const names = listedTools(caller, address).tools.map((tool) => tool.name)
  const near = nearNames(name, names)
  const hint = near.length > 0 ? `Near it are ${near.join(', ')}.` : ''
  return `There is no tool of that name. ${hint} tools/list shows what this token opens.`.replace(
    '  ',
    ' ',
  )
}
