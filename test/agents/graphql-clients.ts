import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { paths } from '../../src/platform/http/paths.ts'
import { type Outcome, tryInstalled } from '../support/driven.ts'
import { install, type Package } from '../support/install.ts'
import { memberToken, readMember, readOnly } from '../support/member-api.ts'
import { temporaryFolder } from '../support/programs.ts'

/** A GraphQL client that is too large for devDependencies. test/graphql-http.test.ts tests the others. */
export const relayCompiler: Package = {
  ...{ registry: 'npm', name: 'relay-compiler', version: '21.0.1' },
}

/** A query and fragments as in Relay's documentation, for an object by its id and for a paginated list. */
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

const settings = { language: 'javascript', eagerEsModules: true }

export async function runRelayCompiler(url: string, over: AbortSignal): Promise<Outcome> {
  const installed = await install(relayCompiler, over)
  return await tryInstalled(installed, over, (folder) => compileAndAsk(folder, url))
}

async function compileAndAsk(folder: string, url: string): Promise<string> {
  const token = await memberToken(url, readOnly)
  const work = temporaryFolder()
  mkdirSync(join(work, 'src'))
  writeFileSync(join(work, 'src/App.js'), page)
  const config = { src: './src', schema: './schema.graphql', ...settings }
  writeFileSync(join(work, 'relay.config.json'), JSON.stringify(config))
  const schema = await (await fetch(url + paths.memberSchema)).text()
  writeFileSync(join(work, 'schema.graphql'), schema)
  const cli = join(folder, 'node_modules/relay-compiler/cli.js')
  await promisify(execFile)(process.execPath, [cli], { cwd: work })
  const ask = async (name: string, variables: Record<string, unknown>) => {
    const compiled = readFileSync(join(work, `src/__generated__/${name}.graphql.js`), 'utf8')
    const [, text = '""'] = /"text": (".*")/.exec(compiled) ?? []
    return await readMember({ url, token }, JSON.parse(text), variables)
  }
  const { viewer } = await ask('AppCoursesQuery', { count: 1, cursor: null })
  const [{ node: first }] = viewer.enrolledCourses.edges
  const { node } = await ask('AppCourseQuery', { id: first.id })
  if (node?.title !== first.title) throw new Error('node(id) did not return the object')
  await ask('AppQuery', { id: first.id, count: 1, cursor: null })
  return `compiled, and found ${node.title} again by its id`
}
