/**
 * Bundles an example that runs in a browser, as a developer's own tools would, and serves it as a
 * single-page application: every path except /application.js returns the same page.
 */

import { createServer } from 'node:http'
import { createRequire } from 'node:module'

const [, , entry = '', settings = '{}'] = process.argv

interface Esbuild {
  build(options: object): Promise<{ outputFiles: readonly { readonly text: string }[] }>
}

const esbuild: Esbuild = createRequire(entry)('esbuild')
const { outputFiles } = await esbuild.build({
  entryPoints: [entry],
  bundle: true,
  write: false,
  format: 'esm',
  target: 'es2022',
  preserveSymlinks: true,
  tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
  define: { 'process.env': settings },
})
const script = outputFiles[0]?.text ?? ''

const page = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Example</title>
<body><main id="app"></main><script type="module" src="/application.js"></script>`

const { PORT = '0' } = JSON.parse(settings) as { PORT?: string }
createServer((request, response) => {
  const isScript = request.url === '/application.js'
  response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' })
  response.end(isScript ? script : page)
}).listen(Number(PORT), '127.0.0.1')
