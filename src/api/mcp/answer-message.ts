import type { Context } from 'koa'

import { callerOf, logFields } from '../../platform/http/request-log.ts'
import type { BearerToken } from '../../resource/resource-server/verdict.ts'
import type { Exchange } from './exchange.ts'
import {
  fetchRequest,
  type Message,
  sendFailure,
  sendResponse,
  sendText,
  sendWrongParams,
} from './message.ts'
import { once, type ToolAddress, type ToolParts } from './tool.ts'

/**
 * Answers a message whose sender was let in: what is plain at once, and the rest by the SDK, which is
 * loaded with the first message and not at the start.
 */
export function makeAnswerMessage(parts: ToolParts) {
  const load = once(async () => {
    const { makePlainAnswers, readPlainRequest } = await import('./plain-requests.ts')
    const { problemOfParams } = await import('./request-shapes.ts')
    const { makeToolServer } = await import('./server.ts')
    return {
      problemOfParams,
      readPlainRequest,
      answerPlain: makePlainAnswers(parts),
      tools: makeToolServer(parts),
    }
  })
  return async (ctx: Context, message: Message, { caller, address }: From): Promise<void> => {
    const hearProblem = () => {
      logFields(ctx).outcome = 'problem'
    }
    const sender = { caller, address, request: callerOf(ctx), hearProblem }
    const { readPlainRequest, answerPlain, problemOfParams, tools } = await load()
    const plain = readPlainRequest(ctx.req.headers, message.value, address)
    if (plain) {
      try {
        return sendText(ctx, await answerPlain(plain, sender))
      } catch (failure) {
        return sendFailure(ctx, message, failure)
      }
    }
    const problem = problemOfParams(message.value)
    if (problem !== undefined) return sendWrongParams(ctx, message, problem)
    const exchange: Exchange = { sender }
    const request = fetchRequest(ctx, parts.service.baseUrl + address.path, message.text)
    const response = await settle(tools.answer(request, message.value, exchange), request)
    if (exchange.failure !== undefined) return sendFailure(ctx, message, exchange.failure)
    if (response) await sendResponse(ctx, response)
  }
}

/** Who sent a message, and to which address. */
interface From {
  readonly caller: BearerToken | undefined
  readonly address: ToolAddress
}

/** The answer, or nothing when the caller hung up meanwhile: there is nobody to tell. */
async function settle(
  answering: Promise<Response>,
  { signal }: Request,
): Promise<Response | undefined> {
  try {
    return await answering
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  }
}
