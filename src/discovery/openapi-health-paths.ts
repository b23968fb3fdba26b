import { paths } from '../http/paths.ts'
import { header } from './openapi-answers.ts'
import { type Answer, json, open, type Paths, text } from './openapi-shapes.ts'

const tags = ['Health']
const security = [] as const
const state = json(open({ status: text }, ['status']))

/** What a load balancer and an orchestrator ask. */
export function healthPaths(): Paths {
  return {
    [paths.health]: {
      get: {
        operationId: 'getHealth',
        summary: 'Whether the process runs',
        tags,
        security,
        responses: { 200: answer('It runs.') },
      },
    },
    [paths.ready]: {
      get: {
        operationId: 'getReadiness',
        summary: 'Whether the process can serve requests',
        tags,
        security,
        responses: {
          200: answer('It can.'),
          503: answer('It cannot: a store is out of reach, or the process is stopping.'),
        },
      },
    },
  }
}

function answer(description: string): Answer {
  return { description, headers: { 'Cache-Control': header('NoStore') }, content: state }
}
