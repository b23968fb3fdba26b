import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { paths } from '../../src/platform/http/paths.ts'
import { install, type Package } from '../support/install.ts'
import { memberToken, readMember, readOnly } from '../support/member-api.ts'
import type { Outcome, Run } from './run-agent.ts'

/**
 * Clients of GraphQL that are too large for a dependency of the project: Relay's compiler brings a
 * program for each kind of machine, 118 MB. `npm run test:agents` installs it apart and tries it;
 * Apollo's client and urql are tried by `test/graphql-clients.test.ts`.
 */
export interface GraphqlClient {
  readonly name: string
  readonly package: Package
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

/** Installs a client apart from the project, and tries it for a member. */
export async function runGraphqlClient(
  { package: wanted, run }: GraphqlClient,
  { serviceUrl: url, over }: Pick<Run, 'serviceUrl' | 'over'>,
): Promise<Outcome> {
  const outcome = { client: wanted, way: 'queries', transcript: '' } as const
  const installed = await install(wanted, over)
  if (installed.kind === 'missing') return { ...outcome, kind: 'not run', detail: installed.why }
  try {
    const token = await memberToken(url, readOnly)
    return {
      ...outcome,
      kind: 'passed',
      detail: await run({ folder: installed.folder, url, token }),
    }
  } catch (error) {
    if (over.aborted) return { ...outcome, kind: 'not run', detail: 'the time of the run was over' }
    const detail = error instanceof Error ? error.message : String(error)
    return { ...outcome, kind: 'failed', detail: detail.split('\n')[0] ?? '', transcript: detail }
  }
}
