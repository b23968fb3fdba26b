import { createServer } from 'node:http'

/** Waits as src/platform/store/storage-timeout.ts does, so any further delay is caused by the machine. */
const STEP_MS = 25
const STEPS = 11

const server = createServer((_request, response) => {
  let step = 0
  const timer = setInterval(() => {
    step += 1
    if (step < STEPS) return
    clearInterval(timer)
    response.end('late')
  }, STEP_MS)
})
server.listen(Number(process.argv[2]), '127.0.0.1', () => process.stdout.write('ready\n'))
