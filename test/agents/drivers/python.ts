import { join } from 'node:path'

import type { Drive } from '../driving.ts'

/** An application with one of Python's libraries: a script beside this file, run by its own Python. */
function drivePython(script: string): Drive {
  return async ({ way, address, clientId, folder, desk }) => {
    const words = [address, way.tool, ...(clientId === undefined ? [] : [clientId])]
    const command = [join(folder, 'bin/python'), join(import.meta.dirname, script), ...words]
    return (await desk.succeed({ command })).stdout
  }
}

export const drivePythonMcp1: Drive = drivePython('python-mcp-1.py')
export const drivePythonMcp2: Drive = drivePython('python-mcp-2.py')
export const driveFastMcp: Drive = drivePython('python-fastmcp.py')
