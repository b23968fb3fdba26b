import { readFileSync } from 'node:fs'
import { Agent } from 'node:http'

export interface Measure {
  readonly perSecond: number
  /** Processor time that the measured process spent on one request, all of its threads included. */
  readonly microseconds: number
}

const CONNECTIONS = 16
const TICKS_PER_SECOND = 100

/** Runs requests on sixteen connections for some seconds, and asks the kernel what they cost. */
export async function measure(
  pid: number,
  seconds: number,
  one: (agent: Agent) => Promise<void>,
): Promise<Measure> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const processorBefore = processorSeconds(pid)
  const startedAt = performance.now()
  let requests = 0
  const worker = async () => {
    while (performance.now() - startedAt < seconds * 1000) {
      await one(agent)
      requests += 1
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, worker))
  const elapsedSeconds = (performance.now() - startedAt) / 1000
  const processor = processorSeconds(pid) - processorBefore
  agent.destroy()
  return { perSecond: requests / elapsedSeconds, microseconds: (processor / requests) * 1e6 }
}

/** User and system time of a process (proc(5)). */
function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}
