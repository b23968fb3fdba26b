import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect } from 'chai'

const root = join(import.meta.dirname, '..')

interface Component {
  readonly purl: string
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[]
  readonly licenses?: readonly object[]
}

describe('npm run sbom', () => {
  let bill: {
    readonly bomFormat: string
    readonly components: readonly Component[]
    readonly dependencies: readonly {
      readonly ref: string
      readonly dependsOn: readonly string[]
    }[]
  }
  before(async () => {
    const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'sbom'], {
      cwd: root,
      maxBuffer: 32 * 1024 * 1024,
    })
    bill = JSON.parse(stdout)
  })

  it('lists every package of an installation once, with digest and licence, and no tool of development', () => {
    const { dependencies, devDependencies } = JSON.parse(
      readFileSync(join(root, 'package.json'), 'utf8'),
    )
    const listed = new Set(bill.components.map(({ purl }) => purl))
    expect(listed.size).to.equal(bill.components.length)
    const purlOf = ([name, version]: [string, string]) =>
      `pkg:npm/${(/^npm:(.+)$/.exec(version)?.[1] ?? `${name}@${version}`).replace(/^@/, '%40')}`
    const purls = (of: Record<string, string>) => Object.entries(of).map(purlOf)
    expect(purls(dependencies).filter((purl) => !listed.has(purl))).to.deep.equal([])
    for (const tool of ['mocha', 'typescript', 'playwright-core']) {
      expect(listed.has(purlOf([tool, devDependencies[tool]])), tool).to.equal(false)
    }
    const bare = bill.components.filter(
      ({ hashes, licenses }) => hashes?.[0]?.content.length !== 128 || !licenses,
    )
    expect(bare.map(({ purl }) => purl)).to.deep.equal([])
  })

  it('reaches each of them from the application by what needs what', () => {
    const needs = new Map(bill.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]))
    const [application] = bill.dependencies
    const reached = new Set<string>()
    const walk = (ref: string) => {
      if (reached.has(ref)) return
      reached.add(ref)
      for (const next of needs.get(ref) ?? []) walk(next)
    }
    walk(application?.ref ?? '')
    const lost = bill.components.filter(({ purl }) => !reached.has(purl))
    expect(lost.map(({ purl }) => purl)).to.deep.equal([])
  })
})
