import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { paths } from '../../src/http/paths.ts'
import { startService } from '../support/gatehouse.ts'
import { memberToken, readMember, readOnly } from '../support/member-api.ts'

/**
 * Clients of GraphQL that are too large for a dependency of the project: Relay's compiler brings a
 * program for each kind of machine, 118 MB. `node test/agents/graphql-clients.ts` installs it apart and tries
 * it; Apollo's client and urql are tried by `test/graphql-clients.test.ts`.
 */
export interface GraphqlClient {
  readonly name: string
  readonly package: { readonly registry: 'npm'; readonly name: string; readonly version: string }
  /** Tries it at a service; `folder` is where its package is installed. @returns what it has shown */
  readonly run: (trial: Trial) => Promise<string>
}

interface Trial {
  readonly folder: string
  readonly url: string
  /** With `account:read`. */
  readonly token: string
}

const execute = promisify(execFile)

/** A page of an application as Relay's documentation has them: an object by its id, and a list with pages. */
const page = `import { graphql } from 'relay-runtime'

export const query = graphql\`
  query AppQuery($id: ID!, $count: Int!, $cursor: String) {
    node(id: $id) { ...App_course @alias }
    viewer { ...App_courses @arguments(count: $count, cursor: $cursor) }
  }
\`
export const course = graphql\`
  fragment App_course on EnrolledCourse @refetchable(queryName: "AppCourseQuery") {
    title
    progressPercent
  }
\`
export const courses = graphql\`
  fragment App_courses on Viewer
  @argumentDefinitions(count: { type: "Int", defaultValue: 10 }, cursor: { type: "String" })
  @refetchable(queryName: "AppCoursesQuery") {
    enrolledCourses(first: $count, after: $cursor, sort: TITLE)
      @connection(key: "App_enrolledCourses") {
      edges { node { id ...App_course } }
    }
  }
\`
`

const settings = {
  src: './src',
  schema: './schema.graphql',
  language: 'javascript',
  eagerEsModules: true,
}

/** Compiles the page for the published schema, and asks the service what came of it. */
async function runRelayCompiler({ folder, url, token }: Trial): Promise<string> {
  const work = mkdtempSync(join(tmpdir(), 'gatehouse-relay-'))
  try {
    mkdirSync(join(work, 'src'))
    writeFileSync(join(work, 'src/App.js'), page)
    writeFileSync(join(work, 'relay.config.json'), JSON.stringify(settings))
    const schema = await (await fetch(url + paths.memberSchema)).text()
    writeFileSync(join(work, 'schema.graphql'), schema)
    const cli = join(folder, 'node_modules/relay-compiler/cli.js')
    await execute(process.execPath, [cli], { cwd: work })
    const ask = async (name: string, variables: Record<string, unknown>) => {
      const compiled = readFileSync(join(work, `src/__generated__/${name}.graphql.js`), 'utf8')
      const [, text = '""'] = /"text": (".*")/.exec(compiled) ?? []
      return await readMember<Answer>({ url, token }, JSON.parse(text), variables)
    }
    const { viewer } = await ask('AppCoursesQuery', { count: 1, cursor: null })
    const [first] = viewer?.enrolledCourses.edges ?? []
    const { node } = await ask('AppCourseQuery', { id: first?.node.id })
    if (!first || node?.title !== first.node.title) throw new Error('an object is not found again')
    await ask('AppQuery', { id: first.node.id, count: 1, cursor: null })
    return `compiled, and found ${node.title} again by its id`
  } finally {
    rmSync(work, { recursive: true })
  }
}

interface Course {
  readonly id: string
  readonly title: string
}

interface Answer {
  readonly node?: Course
  readonly viewer?: { readonly enrolledCourses: { readonly edges: { readonly node: Course }[] } }
}

export const graphqlClients: readonly GraphqlClient[] = [
  {
    name: 'Relay compiler',
    package: { registry: 'npm', name: 'relay-compiler', version: '21.0.1' },
    run: runRelayCompiler,
  },
]

/** Installs a package apart from the project's own, once; no script of it runs. */
async function installApart({ name, version }: GraphqlClient['package']): Promise<string> {
  const folder = join(homedir(), '.cache/gatehouse-agents', `npm-${name}-${version}`)
  if (existsSync(folder)) return folder
  mkdirSync(folder, { recursive: true })
  try {
    writeFileSync(join(folder, 'package.json'), '{ "private": true }')
    const asked = ['install', '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${version}`]
    await execute('npm', asked, { cwd: folder })
    return folder
  } catch (error) {
    rmSync(folder, { recursive: true })
    throw error
  }
}

if (import.meta.main) {
  await using service = await startService()
  const { url } = service
  const token = await memberToken(url, readOnly)
  for (const { name, package: wanted, run } of graphqlClients) {
    const folder = await installApart(wanted)
    process.stdout.write(`${name} ${wanted.version}: ${await run({ folder, url, token })}\n`)
  }
}
