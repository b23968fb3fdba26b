import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect } from 'chai'

const root = join(import.meta.dirname, '..')

interface Component {
  readonly name: string
  readonly version: string
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[]
}

describe('npm run sbom', () => {
  it('lists every package of an installation with version and digest, and no tool of development', async () => {
    const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'sbom'], {
      cwd: root,
      maxBuffer: 32 * 1024 * 1024,
    })
    const { bomFormat, components } = JSON.parse(stdout)
    expect(bomFormat).to.equal('CycloneDX')
    // Of some packages there are several versions.
    const listed = new Set(components.map(({ name, version }: Component) => `${name}@${version}`))
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const missing = Object.entries<string>(dependencies)
      .map(([name, version]) => /^npm:(.+)$/.exec(version)?.[1] ?? `${name}@${version}`)
      .filter((wanted) => !listed.has(wanted))
    expect(missing).to.deep.equal([])
    const plain = components.filter(({ hashes = [] }: Component) => hashes.length === 0)
    expect(plain.map(({ name }: Component) => name)).to.deep.equal([])
    expect(components.some(({ name }: Component) => name === 'mocha')).to.equal(false)
  })
})
