import { oidcEarlyInit } from 'oidc-spa/entrypoint'

const { ISSUER, CLIENT_ID } = process.env

// Call this first; the plugin for Vite does it for you.
const { shouldLoadApp } = oidcEarlyInit({ BASE_URL: '/' })
if (shouldLoadApp) await start()

async function start() {
  const { createOidc } = await import('oidc-spa/core')
  // After a sign-in or sign-out, people return to the URL of the application, here `/`.
  const oidc = await createOidc({
    issuerUri: ISSUER,
    clientId: CLIENT_ID,
    scopes: ['profile', 'account:read'],
    extraQueryParams: { resource: ISSUER },
    // Sent with the exchange and each refresh.
    extraTokenParams: { resource: ISSUER },
  })
  const actions = {
    login: () => oidc.login({ redirectUrl: '/' }),
    async refresh() {
      await oidc.renewTokens()
      await show(oidc, actions)
    },
    logout: () => oidc.logout({ redirectTo: 'home' }),
  }
  if (location.pathname === '/login') await actions.login()
  await show(oidc, actions)
}

async function show(oidc, actions) {
  const names = oidc.isUserLoggedIn ? ['refresh', 'logout'] : ['login']
  const text = oidc.isUserLoggedIn ? await memberData(oidc) : 'Sign in'
  const page = document.querySelector('#app')
  page.replaceChildren(text)
  for (const name of names) {
    const button = Object.assign(document.createElement('button'), { id: name, textContent: name })
    button.onclick = () => {
      page.replaceChildren('…')
      actions[name]()
    }
    page.append(button)
  }
}

async function memberData(oidc) {
  const { accessToken } = await oidc.getTokens()
  const answer = await fetch(`${ISSUER}/member/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ viewer { name } }' }),
  })
  return await answer.text()
}
