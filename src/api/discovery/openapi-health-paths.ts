import { paths } from '../../platform/http/paths.ts'
import { header } from './openapi-answers.ts'
import { json, open, publicRead, text } from './openapi-shapes.ts'

const content = json(open({ status: text }))

function answer(description: string) {
  return { description, headers: { 'Cache-Control': header('NoStore') }, content }
}

/** What a load balancer and an orchestrator ask. */
export const healthPaths = {
  [paths.health]: publicRead('Health', {
    operationId: 'getHealth',
    summary: 'Whether the process runs',
    responses: { 200: answer('It runs.') },
  }),
  [paths.ready]: publicRead('Health', {
    operationId: 'getReadiness',
    summary: 'Whether the process can serve requests',
    responses: { 200: answer('It can.'), 503: answer('It cannot: a store is out of reach.') },
  }),
}
