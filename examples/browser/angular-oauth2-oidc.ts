import '@angular/compiler'

import { provideHttpClient } from '@angular/common/http'
import { Component, inject, signal } from '@angular/core'
import { bootstrapApplication } from '@angular/platform-browser'
import { type AuthConfig, OAuthService, provideOAuthClient } from 'angular-oauth2-oidc'

const { ISSUER, CLIENT_ID, REDIRECT_URI, SIGNED_OUT_URI } = process.env

const config: AuthConfig = {
  issuer: ISSUER,
  clientId: CLIENT_ID,
  redirectUri: REDIRECT_URI,
  postLogoutRedirectUri: SIGNED_OUT_URI,
  responseType: 'code',
  // You get a refresh token even without offline_access.
  scope: 'openid profile account:read',
  // Allow http only for a service on this computer.
  requireHttps: !ISSUER.startsWith('http:'),
  // Sent with the authorization request, the exchange and the refresh.
  customQueryParams: { resource: ISSUER },
}

@Component({
  selector: '#app',
  template: `
    {{ text() }}
    @if (signedIn()) {
      <button id="refresh" (click)="refresh()">Refresh</button>
      <button id="logout" (click)="logout()">Sign out</button>
    } @else {
      <button id="login" (click)="login()">Sign in</button>
    }
  `,
})
class Application {
  readonly oauth = inject(OAuthService)
  readonly text = signal('')
  readonly signedIn = signal(false)

  constructor() {
    this.oauth.configure(config)
    void this.start()
  }

  async start() {
    await this.oauth.loadDiscoveryDocumentAndTryLogin()
    if (location.pathname === '/login') this.login()
    else await this.show()
  }

  login() {
    this.oauth.initCodeFlow()
  }

  async refresh() {
    this.text.set('…')
    await this.oauth.refreshToken()
    await this.show()
  }

  logout() {
    this.oauth.logOut()
  }

  async show() {
    this.signedIn.set(this.oauth.hasValidAccessToken())
    if (!this.signedIn()) return
    const answer = await fetch(`${ISSUER}/member/graphql`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.oauth.getAccessToken()}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ query: '{ viewer { name } }' }),
    })
    this.text.set(await answer.text())
  }
}

await bootstrapApplication(Application, { providers: [provideHttpClient(), provideOAuthClient()] })
