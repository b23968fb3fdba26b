// Runs better-auth with its OAuth provider on PostgreSQL. With `prepare`, it creates the tables, a person and a client,
// and prints the client. bench/peers/better-auth.ts copies this file to the folder of the packages.
import { createServer } from 'node:http'

import { oauthProvider } from '@better-auth/oauth-provider'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { toNodeHandler } from 'better-auth/node'
import { jwt } from 'better-auth/plugins'
import pg from 'pg'

const { PORT, DATABASE_URL, DATABASE_CONNECTIONS, REDIRECT_URI, EMAIL, PASSWORD, SECRET } =
  process.env
const scopes = ['openid', 'profile', 'email', 'offline_access']

const options = {
  baseURL: `http://127.0.0.1:${PORT}`,
  secret: SECRET,
  database: new pg.Pool({ connectionString: DATABASE_URL, max: Number(DATABASE_CONNECTIONS) }),
  emailAndPassword: { enabled: true },
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  // The OAuth provider replaces this endpoint.
  disabledPaths: ['/token'],
  plugins: [
    jwt({ disableSettingJwtHeader: true, jwks: { keyPairConfig: { alg: 'ES256' } } }),
    oauthProvider({
      ...{ loginPage: '/login', consentPage: '/consent', scopes },
      silenceWarnings: { oauthAuthServerConfig: true, openidConfig: true },
    }),
  ],
}

async function prepare(auth) {
  await (await getMigrations(options)).runMigrations()
  const { headers } = await auth.api.signUpEmail({
    body: { name: 'Sam Student', email: EMAIL, password: PASSWORD },
    returnHeaders: true,
  })
  const cookies = headers.getSetCookie().map((line) => line.split(';')[0])
  const client = await auth.api.adminCreateOAuthClient({
    headers: new Headers({ cookie: cookies.join('; ') }),
    body: {
      client_name: 'bench',
      redirect_uris: [REDIRECT_URI],
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['authorization_code', 'refresh_token'],
      scope: scopes.join(' '),
      skip_consent: true,
    },
  })
  process.stdout.write(JSON.stringify(client))
  await options.database.end()
}

const auth = betterAuth(options)
if (process.argv[2] === 'prepare') await prepare(auth)
else createServer(toNodeHandler(auth)).listen(Number(PORT), '127.0.0.1')
