// Sends the records on standard input to Gatehouse: node send.mjs < records.ndjson
import { hash, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'

import { importPKCS8, SignJWT } from 'jose'

const { ISSUER, KEY_FILE, KEY_ID } = process.env
const url = `${ISSUER}/platform/records`
const body = readFileSync(0)
const key = await importPKCS8(readFileSync(KEY_FILE, 'utf8'), 'ES256')
const jwt = await new SignJWT({ body_sha256: hash('sha256', body, 'base64url') })
  .setProtectedHeader({ alg: 'ES256', kid: KEY_ID, typ: 'records+jwt' })
  .setAudience(url)
  .setJti(randomUUID())
  .setIssuedAt()
  .setExpirationTime('60s')
  .sign(key)
const response = await fetch(url, {
  method: 'POST',
  headers: { authorization: `Bearer ${jwt}`, 'content-type': 'application/x-ndjson' },
  body,
})
const { results, error_description } = await response.json()
if (!response.ok) throw new Error(`${response.status}: ${error_description}`)
for (const { line, changed, error } of results) {
  console.log(`${line}: ${error ?? (changed ? 'changed' : 'unchanged')}`)
}
