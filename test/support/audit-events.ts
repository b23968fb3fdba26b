import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

const file = join(import.meta.dirname, '../../docs/audit-event.schema.json')

export const eventSchema = JSON.parse(readFileSync(file, 'utf8'))

export const isEvent = addFormats.default(new Ajv2020({ strict: true })).compile(eventSchema)
