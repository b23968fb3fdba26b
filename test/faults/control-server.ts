import { createServer } from 'node:http'

/**
 * A server that only waits, as long as the service waits for a store, in the same steps of the event loop
 * (src/platform/store/storage-timeout.ts). Its delay is the delay of the machine.
 */
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
