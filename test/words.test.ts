import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

/** Words that an exported name does not use, each with the word of this service for the thing. */
const bannedWords: Readonly<Record<string, string>> = {
  abilities: 'scopes',
  ability: 'scope',
  account: 'person',
  accounts: 'people',
  asked: 'question, or the name of what was found',
  connection: 'grant',
  connections: 'grants',
  done: 'result',
  door: 'route',
  entrance: 'route',
  gate: 'route',
  holding: 'access',
  moment: 'time, or timestamp',
  offers: 'products',
  presented: 'the name of the value: token, secret',
  records: 'state',
  school: 'site',
  schools: 'sites',
  standing: 'access',
  visitor: 'person',
}

/** Names that use such a word because it is the right one there. */
const exceptions: readonly { readonly name: RegExp; readonly because: string }[] = [
  {
    name: /^(Account(Ports|HomePage|Site)|account(Routes|HomePage))$/,
    because: '/account is so called',
  },
  {
    name: /^(School(Settings)?|makeSchool)$/,
    because: 'the room of what a site has is called school',
  },
  { name: /^makeFindAccount$/, because: 'the engine calls its hook findAccount' },
  {
    name: /^(switchMcpConnections|MCP_CONNECTIONS)$/,
    because: 'the beta feature is called MCP connections',
  },
]

const root = join(import.meta.dirname, '..')
const declaration = /^export (?:async )?(?:function\*?|const|let|class|interface|type) (\w+)/gm
const exported = globSync('{src,views}/**/*.ts', { cwd: root }).flatMap((file) =>
  [...read(file).matchAll(declaration)].map(([, name = '']) => ({ file, name })),
)

describe('words', () => {
  it('one word per thing: no exported name uses another word for it', () => {
    const others = exported
      .filter(({ name }) => !exceptions.some((exception) => exception.name.test(name)))
      .flatMap(({ file, name }) =>
        wordsOf(name)
          .filter((word) => Object.hasOwn(bannedWords, word))
          .map((word) => `${file}: ${name} (say ${bannedWords[word]} for ${word})`),
      )
    expect(others).to.deep.equal([])
  })

  for (const { name, because } of exceptions) {
    it(`an exception is still needed: ${because}`, () => {
      expect(exported.some((found) => name.test(found.name))).to.equal(true)
    })
  }

  it('the glossary of docs/architecture.md has terms that name folders which exist', () => {
    const [, glossary] =
      /^## Glossary\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(read('docs/architecture.md')) ?? []
    if (glossary === undefined) return
    const terms = [...glossary.matchAll(/^\| (?!term|-)([^|]+?) \| ([^|]+?) \| ([^|]+?) \|$/gm)]
    expect(terms).to.have.length.above(0)
    const missing = terms.flatMap(([, term, , where = '']) =>
      [...where.matchAll(/`((?:src|views|config|test|docs)[\w./-]*)`/g)]
        .filter(([, path = '']) => !existsSync(join(root, path)))
        .map(([, path]) => `${term}: ${path}`),
    )
    expect(missing).to.deep.equal([])
  })
})

/** The words of a name: `listHeldSites` is list, held, sites. */
function wordsOf(name: string): string[] {
  return name.split(/(?<=[a-z0-9])(?=[A-Z])|_/).map((word) => word.toLowerCase())
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}
