import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { makeMemberSchema } from '../src/api/member-api/member-api.ts'
import { type RunningService, startService } from './support/gatehouse.ts'
import { askMember, memberToken, readWrite } from './support/member-api.ts'

const text = readFileSync(join(import.meta.dirname, '../docs/member-api.md'), 'utf8')

const block = (language: string) => `\`\`\`${language}\\n([^\`]*)\`\`\`\\n`
const exampleShape = new RegExp(
  `${block('graphql')}(?:\\nVariables:\\n\\n${block('json')})?\\nAnswer:\\n\\n${block('json')}`,
  'g',
)

const examples = [...text.matchAll(exampleShape)].map(
  ([, query = '', variables = '{}', answer = '']) => ({
    query,
    variables: JSON.parse(variables) as Record<string, unknown>,
    answer,
  }),
)

describe('docs/member-api.md', () => {
  let running: RunningService
  let token = ''
  before(async () => {
    running = await startService()
    token = await memberToken(running.url, readWrite)
  })
  after(async () => await running[Symbol.asyncDispose]())

  it('has an answer to every request', () => {
    expect(examples).to.have.length(text.split('```graphql').length - 1)
  })

  // They are run in the order of the document, because the mutations at its end change the inbox.
  it('shows what the demo campus really answers', async () => {
    for (const { query, variables, answer } of examples) {
      const { body } = await askMember({ url: running.url, token }, { query, variables })
      // What every answer says of cost and limits is shown once, below them.
      const { extensions: _, ...real } = body
      expect(withoutMoments(real), query).to.deep.equal(withoutMoments(JSON.parse(answer)))
    }
  })

  // [Not shown 2]
  it('shows every query, every mutation and every field of the viewer', () => {
    const schema = makeMemberSchema()
    const all = examples.map(({ query }) => query).join('\n')
    const viewer = schema.getType('Viewer')
    const names = [
      ...Object.keys(schema.getQueryType()?.getFields() ?? {}),
      ...Object.keys(schema.getMutationType()?.getFields() ?? {}),
      ...(viewer && 'getFields' in viewer ? Object.keys(viewer.getFields()) : []),
    ]
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(all))).to.deep.equal([])
  })
})

/** Moments and cursors follow the day on which the demo campus was loaded. */
function withoutMoments(value: unknown): unknown {
  const shown = JSON.stringify(value)
    .replace(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/g, '"a moment"')
    .replace(/"[^"]*\/files\/[\w-]+\//g, '"{base_url}/files/signed/')
    .replace(/"((?:start|end)?[cC]ursor)":"[\w-]+"/g, '"$1":"a cursor"')
  return JSON.parse(shown)
}
