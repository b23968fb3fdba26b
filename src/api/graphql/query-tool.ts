import { createHash, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

import type Router from 'koa-router'

import type { QueryTool } from '../../../views/query-page.ts'
import { methodNotAllowed, nothingHere } from '../../platform/http/errors.ts'
import { addressOf, pages } from '../../platform/http/paths.ts'
import { once } from './once.ts'

export type QueryToolFiles = ReturnType<typeof makeQueryTool>

/** Returns the folder of an installed package; undefined if it is not installed. */
export type FindPackage = (name: string) => string | undefined

/** The script that loads the query tool, then its files in loading order. `views` is a folder of this service. */
const sources = [
  { name: 'start', type: 'js', from: 'views', file: 'query-page.js' },
  { name: 'graphiql', type: 'css', from: 'graphiql', file: 'graphiql.min.css' },
  { name: 'react', type: 'js', from: 'react', file: 'umd/react.production.min.js' },
  { name: 'react-dom', type: 'js', from: 'react-dom', file: 'umd/react-dom.production.min.js' },
  { name: 'graphiql', type: 'js', from: 'graphiql', file: 'graphiql.min.js' },
] as const

const FOREVER = 'public, max-age=31536000, immutable'
const NONCE_BYTES = 16

/** Creates the query tool, which serves GraphiQL and React. Without their packages, pages show a plain form. */
export function makeQueryTool(findPackage: FindPackage = installedAt) {
  const load = once(() => readAll(findPackage))
  return {
    addRoutes(router: Router): void {
      router.get(pages.queryAssets, async (ctx) => {
        const found = (await load()).find(({ file }) => file === ctx['params']['file'])
        if (!found) throw nothingHere()
        ctx.set('Cache-Control', FOREVER)
        ctx.type = found.type
        ctx.body = found.content
      })
      router.post(pages.queryAssets, (ctx) => {
        ctx.set('Allow', 'GET, HEAD')
        throw methodNotAllowed('GET')
      })
    },
    /** Returns the values that a page needs to show GraphiQL; undefined if a package is missing. */
    async forPage(address: string): Promise<QueryTool | undefined> {
      const files = await load()
      if (files.length === 0) return undefined
      const hrefs = (type: 'css' | 'js') =>
        files
          .filter((loaded) => loaded.type === type)
          .map(({ file }) => addressOf(pages.queryAssets, { file }))
      const [stylesheet = ''] = hrefs('css')
      const [loader = '', ...scripts] = hrefs('js')
      const nonce = randomBytes(NONCE_BYTES).toString('base64')
      return { address, nonce, stylesheet, loader, scripts }
    },
  }
}

/** Reads all files; none if a package is missing. File names contain digests, so browsers can cache files forever. */
async function readAll(findPackage: FindPackage) {
  const places = sources.map(({ from }) =>
    from === 'views' ? join(import.meta.dirname, '../../../views') : findPackage(from),
  )
  if (places.includes(undefined)) return []
  return await Promise.all(
    sources.map(async ({ name, type, file }, at) => {
      const content = await readFile(join(places[at] ?? '', file))
      const digest = createHash('sha256').update(content).digest('hex').slice(0, 10)
      return { file: `${name}-${digest}.${type}`, type, content }
    }),
  )
}

const require = createRequire(import.meta.url)

function installedAt(name: string): string | undefined {
  try {
    return dirname(require.resolve(`${name}/package.json`))
  } catch {
    return undefined
  }
}

/** Returns the Content-Security-Policy of a page with GraphiQL. GraphiQL's stylesheet embeds fonts. */
export function queryToolPolicy({ nonce }: Pick<QueryTool, 'nonce'>): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    'font-src data:',
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ')
}
