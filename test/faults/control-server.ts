import { createServer } from 'node:http'

/**
 * A server that does nothing but wait, as long as the service waits for a store, and counted as the service counts
 * it: in steps of the event loop (src/platform/store/storage-timeout.ts). How late its answers are is how late the machine is.
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
