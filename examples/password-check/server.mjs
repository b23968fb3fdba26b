// Responds to Gatehouse's password checks. Replace `isPassword` with the check of your platform.
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'

import { createRemoteJWKSet, jwtVerify } from 'jose'

const { ISSUER, URL_OF_CHECK, PORT, TLS_KEY, TLS_CERT } = process.env
const keys = createRemoteJWKSet(new URL(`${ISSUER}/api/oauth/jwks`))
const people = JSON.parse(process.env.PEOPLE)

/** Must take equally long for known and unknown addresses, although Gatehouse delays its rejections, too. */
const isPassword = async (email, password) =>
  Object.hasOwn(people, email) && people[email] === password

createServer({ key: readFileSync(TLS_KEY), cert: readFileSync(TLS_CERT) }, async (req, res) => {
  try {
    const body = Buffer.concat(await req.toArray()).toString()
    const token = req.headers.authorization?.replace('Bearer ', '') ?? ''
    const { payload } = await jwtVerify(token, keys, {
      ...{ issuer: ISSUER, audience: URL_OF_CHECK, algorithms: ['ES256'] },
      ...{ typ: 'password-check+jwt', requiredClaims: ['exp', 'jti'] },
    })
    if (payload.body_sha256 !== hash('sha256', body, 'base64url')) throw new Error('another body')
    const { email, password } = JSON.parse(body)
    res.setHeader('content-type', 'application/json')
    res.end(JSON.stringify({ valid: await isPassword(email, password) }))
  } catch {
    res.writeHead(401).end()
  }
}).listen(PORT, '127.0.0.1', () => console.log('listening'))
