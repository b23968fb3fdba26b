import { UserManager } from 'oidc-client-ts'

const { ISSUER, CLIENT_ID, REDIRECT_URI, SIGNED_OUT_URI } = process.env

const manager = new UserManager({
  authority: ISSUER,
  client_id: CLIENT_ID,
  redirect_uri: REDIRECT_URI,
  post_logout_redirect_uri: SIGNED_OUT_URI,
  scope: 'openid profile account:read',
  // Sent with the authorization request.
  resource: ISSUER,
  // Sent with the code exchange.
  extraTokenParams: { resource: ISSUER },
})

const actions = {
  // The library adds PKCE and state. It sends and checks a nonce if you pass one.
  login: () => manager.signinRedirect({ nonce: crypto.randomUUID() }),
  async refresh() {
    await manager.signinSilent()
    await show()
  },
  logout: () => manager.signoutRedirect(),
}

const page = document.querySelector('#app')

async function show() {
  const user = await manager.getUser()
  const names = user ? ['refresh', 'logout'] : ['login']
  const text = user ? await memberData(user.access_token) : 'Sign in'
  page.replaceChildren(text, ...names.map(buttonOf))
}

function buttonOf(name) {
  const button = Object.assign(document.createElement('button'), { id: name, textContent: name })
  button.onclick = async () => {
    page.replaceChildren('…')
    await actions[name]()
  }
  return button
}

async function memberData(accessToken) {
  const answer = await fetch(`${ISSUER}/member/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ viewer { name } }' }),
  })
  return await answer.text()
}

if (location.pathname === '/login') await actions.login()
if (location.pathname === '/callback') {
  await manager.signinRedirectCallback()
  history.replaceState({}, '', '/')
}
await show()
