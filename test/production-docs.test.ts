import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const page = read('docs/how-to/production.md')
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(
    ([, text = '']) => text,
  )

describe('docs/how-to/production.md', () => {
  it('sets environment variables that the service reads', () => {
    const known = [...read('config/example.env').matchAll(/^# ([A-Z0-9_]+)=/gm)].map(
      ([, name]) => name,
    )
    const environment = blocks('sh').find((block) => block.startsWith('BASE_URL=')) ?? ''
    const set = [...environment.matchAll(/^([A-Z0-9_]+)=/gm)].map(([, name]) => name)
    const inPods = [...page.matchAll(/\{ name: ([A-Z0-9_]+), value/g)].map(([, name]) => name)
    expect(set).to.have.length.above(10)
    expect(inPods).to.have.length.above(2)
    expect([...set, ...inPods].filter((name) => !known.includes(name))).to.deep.equal([])
  })

  it('keeps every host in use behind nginx, so that a restart in turn answers no 502', () => {
    const [nginx = ''] = blocks('nginx')
    const servers = [...nginx.matchAll(/^ {2}server \S+(.*);$/gm)].map(([, options]) => options)
    expect(servers).to.deep.equal([' max_fails=0', ' max_fails=0'])
    expect(nginx).to.include('proxy_next_upstream error timeout;')
    expect(nginx).to.include('proxy_set_header Host $http_host;')
    // A state of 4096 characters comes back in a Location header.
    expect(nginx)
      .to.include('proxy_buffer_size 16k;')
      .and.include('large_client_header_buffers 4 16k;')
  })

  it('stops the service as it wants to be stopped', () => {
    const [unit = ''] = blocks('ini')
    expect(unit).to.include('KillMode=mixed')
    expect(Number(/TimeoutStopSec=(\d+)/.exec(unit)?.[1])).to.be.above(13)
    expect(Number(/terminationGracePeriodSeconds: (\d+)/.exec(page)?.[1])).to.be.above(5 + 13)
  })
})
