/**
 * `npm run sbom`: what an installation without development tools is made of, as CycloneDX 1.6. npm's own
 * list leaves out what a development tool needs too, such as the library that signs tokens.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One row of package-lock.json, as npm 11 writes it. */
interface LockedPackage {
  readonly name?: string
  readonly version?: string
  readonly integrity?: string
  readonly license?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly devOptional?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** Where packages are, each in that of who needs it or further up. */
const FOLDER = 'node_modules'

type Lock = Readonly<Record<string, LockedPackage>>

const file = join(import.meta.dirname, '../../package-lock.json')
const { packages }: { packages: Lock } = JSON.parse(readFileSync(file, 'utf8'))
process.stdout.write(`${JSON.stringify(billOf(packages), null, 2)}\n`)

/** The same bytes for the same lock file: no time and no number of its own. */
function billOf(lock: Lock) {
  const { '': own = {}, ...others } = lock
  const installed = Object.entries(others).filter(([, { dev }]) => dev !== true)
  const components = new Map(installed.map((row) => [refOf(row), componentOf(row)]))
  const dependencies = [['', own] as const, ...installed].map((row) => ({
    ref: refOf(row),
    dependsOn: [...new Set(refsOf(row, others))].sort(),
  }))
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { ...componentOf(['', own]), type: 'application' } },
    components: [...components.values()],
    dependencies: [...new Map(dependencies.map((row) => [row.ref, row])).values()],
  }
}

type Row = readonly [path: string, locked: LockedPackage]

function componentOf(row: Row) {
  const [path, { version = '', integrity, license, optional, devOptional }] = row
  const [group, name = ''] = nameOf(row).includes('/')
    ? nameOf(row).split('/')
    : [undefined, nameOf(row)]
  const [algorithm, digest = ''] = integrity?.split('-') ?? []
  return {
    type: 'library',
    'bom-ref': refOf(row),
    ...(group !== undefined && { group }),
    ...{ name, version, purl: refOf(row) },
    ...(path !== '' && { scope: optional || devOptional ? 'optional' : 'required' }),
    ...(license !== undefined && { licenses: [licenseOf(license)] }),
    ...(algorithm === 'sha512' && {
      hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }],
    }),
  }
}

/** Of a package under an alias, the name under which it is published. */
function nameOf([path, { name }]: Row): string {
  return name ?? path.slice(path.lastIndexOf(`${FOLDER}/`) + FOLDER.length + 1)
}

function licenseOf(text: string) {
  return /^[\w.+-]+$/.test(text) ? { license: { id: text } } : { expression: text }
}

/** A package URL: `pkg:npm/%40koa/router@15.7.0`. */
function refOf(row: Row): string {
  return `pkg:npm/${nameOf(row).replace('@', '%40')}@${row[1].version}`
}

/** The packages that a package needs and has. */
function refsOf([path, locked]: Row, lock: Lock): string[] {
  const { dependencies, optionalDependencies, peerDependencies } = locked
  const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })
  return names.flatMap((name) => {
    const found = lookUp(name, path, lock)
    return found === undefined || found[1].dev === true ? [] : [refOf(found)]
  })
}

/** As node looks for a package: in the folder of who wants it, then further up. */
function lookUp(name: string, from: string, lock: Lock): Row | undefined {
  const inside = `${from === '' ? '' : `${from}/`}${FOLDER}/${name}`
  const target = lock[inside]
  if (target) return [inside, target]
  const above = from.slice(0, Math.max(0, from.lastIndexOf(`/${FOLDER}/`)))
  return from === '' ? undefined : lookUp(name, above, lock)
}
