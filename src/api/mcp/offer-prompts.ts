import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server'

import type { Sender } from './exchange.ts'
import { nearNames } from './near-names.ts'
import { findPrompt, type Prompt, promptCatalogue, promptText } from './prompts.ts'
import { ToolProblem } from './tool.ts'
import { isOpen } from './tool-access.ts'
import { isServedAt } from './tool-address.ts'

/** Answers prompts/list and prompts/get: those that the caller's token opens at this address. */
export function offerPrompts(server: Server, { caller, address }: Sender): void {
  const isOffered = (prompt: Prompt) => isServedAt(address, prompt) && isOpen(prompt.access, caller)

  server.setRequestHandler('prompts/list', () => ({
    prompts: promptCatalogue
      .filter(isOffered)
      .map(({ name, title, description, arguments: taken }) => ({
        name,
        title,
        description,
        ...(taken.length > 0 && { arguments: [...taken] }),
      })),
  }))

  server.setRequestHandler('prompts/get', ({ params }) => {
    const prompt = findPrompt(params.name)
    // The front door has asked already. Asked again here, no way around it opens a prompt.
    if (!prompt || !isOffered(prompt)) {
      const names = promptCatalogue.filter(isOffered).map(({ name }) => name)
      const near = nearNames(params.name, names)
      const list = (near.length > 0 ? near : names).join(', ')
      throw invalid(`There is no such prompt here. There is ${list}.`)
    }
    const text = textOf(prompt, params.arguments ?? {})
    return {
      description: prompt.description,
      messages: [{ role: 'user', content: { type: 'text', text } }],
    }
  })
}

function textOf(prompt: Prompt, values: Readonly<Record<string, string>>): string {
  try {
    return promptText(prompt, values)
  } catch (error) {
    throw error instanceof ToolProblem ? invalid(error.message) : error
  }
}

function invalid(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message)
}
