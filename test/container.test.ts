import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { environmentVariables } from '../src/config/environment.ts'

const root = join(import.meta.dirname, '..')
const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8').replaceAll(/\\\n/g, '')
const compose = readFileSync(join(root, 'compose.yaml'), 'utf8')

/** What can be known of the image and of the compose file without an engine that builds them. */
describe('the container', () => {
  it('copies what is there, and .dockerignore lets it through', () => {
    const admitted = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n')
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
      ([, sources = '']) => sources.split(' '),
    )
    expect(copied).to.include.members(['package.json', 'config', 'views', 'src'])
    for (const source of copied) {
      expect(existsSync(join(root, source)), source).to.equal(true)
      expect(admitted).to.include(`!${source}`)
    }
  })

  it('sets only variables that the service reads', () => {
    const known: readonly string[] = Object.keys(environmentVariables.shape)
    const image = [...(/^ENV (.+)$/m.exec(dockerfile)?.[1] ?? '').matchAll(/([A-Z_]+)=/g)]
    const service = /\n {4}environment:\n((?: {6}.*\n)+)/.exec(compose)?.[1] ?? ''
    const names = [...image, ...service.matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name]) => name)
    expect(names).to.include.members(['DATA_DIR', 'DATABASE_URL', 'REDIS_URL', 'SECRET'])
    expect(names.filter((name) => !known.includes(name ?? ''))).to.deep.equal([
      'NODE_ENV',
      'NODE_COMPILE_CACHE',
    ])
  })

  it('runs the start of package.json, as somebody who is not root', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const [, command = '[]'] = /^CMD (.+)$/m.exec(dockerfile) ?? []
    expect(scripts.start.endsWith(`exec ${JSON.parse(command).join(' ')}`)).to.equal(true)
    expect(dockerfile).to.match(/^USER [1-9]\d*:[1-9]\d*$/m)
  })

  // [threat 41]
  it('installs exactly the packages whose digests are locked, and runs none of their scripts', () => {
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
    const packages: [string, { readonly integrity?: string }][] = Object.entries(lock.packages)
    const open = packages.filter(([path, { integrity }]) => path !== '' && !integrity)
    expect(open.map(([path]) => path)).to.deep.equal([])
    expect(dockerfile).to.match(/^RUN npm ci .*--ignore-scripts/m)
  })
})
