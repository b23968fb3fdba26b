import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { newLocalContext } from '../../support/driven.ts'
import { serve } from '../../support/serve.ts'
import type { Desk } from '../desk.ts'
import type { Drive } from '../driving.ts'
import { answerPages } from '../person.ts'

/** The script of a page that uses `useMcp`, and of its callback page. The hook opens a window for the sign-in. */
const page = `
import { createElement } from 'react'
import { createRoot } from 'react-dom/client'
import { BrowserOAuthClientProvider, onMcpAuthorization } from 'use-mcp'
import { useMcp } from 'use-mcp/react'

const { url, clientId, callbackUrl } = asked
const kept = new BrowserOAuthClientProvider(url)
if (clientId) kept.saveClientInformation({ client_id: clientId })

function Application() {
  const clientName = 'an application in a browser'
  const mcp = useMcp({ url, callbackUrl, clientName, transportType: 'http' })
  window.callTool = async (name, values) => JSON.stringify(await mcp.callTool(name, values))
  return createElement('p', { id: mcp.state }, mcp.error)
}

if (location.pathname === '/callback') onMcpAuthorization()
else createRoot(document.body).render(createElement(Application))
`

/** Drives use-mcp in Chromium, which also tests CORS. */
export const driveUseMcp: Drive = async (driving) => {
  const { way, address, clientId, folder, desk, browser, use } = driving
  const script = await bundle(folder, desk)
  await using application = await servePage(script, { url: address, clientId })
  await using context = await newLocalContext(browser)
  const window = await context.newPage()
  window.on('console', (message) => desk.note(message.text()))
  context.on('request', (request) => {
    if (new URL(request.url()).searchParams.has('code_challenge')) desk.opened.push(request.url())
  })
  const opening = window.waitForEvent('popup')
  await window.goto(application.url)
  const popup = await opening
  await popup.waitForURL((url) => url.protocol !== 'about:')
  await answerPages(popup, { serviceUrl: new URL(address).origin, person: way.person })
  await window.waitForSelector('#ready, #failed', { state: 'attached' })
  return await use(async (...called) =>
    String(await window.evaluate(([name, given]) => callTool(name, given), called)),
  )
}

/** Defined in the page. */
declare function callTool(name: string, values: object): Promise<string>

async function bundle(folder: string, desk: Desk): Promise<string> {
  const words = ['--bundle', '--log-level=error', '--define:process.env.NODE_ENV="production"']
  const script = join(desk.home, 'bundle.js')
  const NODE_PATH = join(folder, 'node_modules')
  const program = [process.execPath, join(NODE_PATH, 'esbuild/bin/esbuild')]
  const files = [desk.write('page.js', page), `--outfile=${script}`]
  await desk.succeed([...program, ...files, ...words], { NODE_PATH })
  return readFileSync(script, 'utf8')
}

/** Serves the script at /page.js, and the page at every other path. */
async function servePage(script: string, asked: object) {
  return await serve(({ url, headers }, response) => {
    const isScript = url === '/page.js'
    const all = JSON.stringify({ ...asked, callbackUrl: `http://${headers.host}/callback` })
    const html = `<body><script>asked = ${all}</script><script src="/page.js"></script>`
    response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' })
    response.end(isScript ? script : html)
  })
}
