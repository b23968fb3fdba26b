import type { Package } from '../support/install.ts'
import type { Modules } from './install-modules.ts'

/** A folder of examples/, and the page of docs/libraries/ that shows its programs. */
export const pages = {
  node: 'node',
  browser: 'browser',
  python: 'python',
  go: 'go',
  java: 'java',
  rust: 'others',
  apache: 'others',
} as const

export type Family = keyof typeof pages

/** How `resource` gets into the request for tokens. */
export type ResourceWay = 'a setting' | 'an argument of the call' | 'code of yours' | 'not at all'

/** A library with a program that `npm run test:interop` runs. */
export interface Library {
  readonly name: string
  readonly version: string
  readonly family: Family
  /** Its program in the folder of its family; one that has to be built is a folder. */
  readonly example: string
  /** What its page shows of such a folder. */
  readonly shown?: readonly string[]
  /** Its section there, where it is not called as the library. */
  readonly section?: string
  readonly package: Package | Modules
  /** Runs with `--all` only: what it needs is more than a continuous integration should wait for. */
  readonly onlyWithAll?: true
  /** How the program authenticates at the token endpoint. */
  readonly authentication: 'client_secret_post' | 'client_secret_basic' | 'none'
  readonly resource: ResourceWay
  /**
   * Who verifies the signature of the id_token; the run lets each of them meet a forged one. Nobody
   * has to, because it comes straight from the service over TLS (OpenID Connect Core 1.0 §3.1.3.7).
   */
  readonly idToken: 'the library' | 'the example, with another library' | 'nobody'
  /** Sent by every library but those that have none: the code is bound by PKCE and `state` all the same. */
  readonly nonce?: 'none'
  /** Whether the library makes the address of the sign-out, or the example writes it down. */
  readonly signOut: 'the library' | 'the example'
  /** Where its callback is. */
  readonly callbackPath?: string
  /** Where people come back to from a sign-out. */
  readonly signedOutPath?: string
}

const esbuild = 'esbuild@0.28.2'
const express = ['express@5.3.0', 'express-session@1.19.0'] as const

function npm(name: string, version: string, others: readonly string[] = []): Package {
  return { registry: 'npm', name, version, with: others }
}

function pypi(name: string, version: string, others: readonly string[] = []): Package {
  return { registry: 'pypi', name, version, with: others }
}

export const libraries: readonly Library[] = [
  {
    ...{ family: 'node', name: 'openid-client 6', version: '6.8.9' },
    example: 'openid-client-6.mjs',
    package: npm('openid-client', '6.8.9', express),
    authentication: 'client_secret_post',
    resource: 'an argument of the call',
    idToken: 'the library',
    signOut: 'the library',
  },
  {
    ...{ family: 'node', name: 'openid-client 5', version: '5.7.1' },
    example: 'openid-client-5.mjs',
    package: npm('openid-client', '5.7.1', express),
    authentication: 'client_secret_post',
    resource: 'an argument of the call',
    idToken: 'the library',
    signOut: 'the library',
  },
  {
    ...{ family: 'node', name: 'oauth4webapi', version: '3.8.8' },
    example: 'oauth4webapi.mjs',
    package: npm('oauth4webapi', '3.8.8', express),
    authentication: 'client_secret_post',
    resource: 'an argument of the call',
    idToken: 'the library',
    signOut: 'the example',
  },
  {
    ...{ family: 'node', name: 'Auth.js, @auth/core', version: '0.41.3' },
    example: 'authjs.mjs',
    package: npm('@auth/core', '0.41.3', ['@auth/express@0.12.3', express[0]]),
    callbackPath: '/auth/callback/gatehouse',
    authentication: 'client_secret_post',
    resource: 'code of yours',
    idToken: 'nobody',
    signOut: 'the example',
  },
  {
    ...{ family: 'node', name: 'next-auth 4', version: '4.24.15' },
    example: 'next-auth-4.mjs',
    package: npm('next-auth', '4.24.15', [
      ...['next@15.5.29', 'react@19.3.1', 'react-dom@19.3.1', express[0], 'cookie-parser@1.4.7'],
    ]),
    callbackPath: '/api/auth/callback/gatehouse',
    authentication: 'client_secret_post',
    resource: 'code of yours',
    idToken: 'the library',
    signOut: 'the example',
  },
  {
    ...{ family: 'node', name: 'better-auth, genericOAuth', version: '1.7.25' },
    example: 'better-auth.mjs',
    package: npm('better-auth', '1.7.25', [express[0]]),
    callbackPath: '/api/auth/callback/gatehouse',
    authentication: 'client_secret_post',
    resource: 'a setting',
    idToken: 'the library',
    signOut: 'the library',
  },
  {
    ...{ family: 'node', name: 'express-openid-connect', version: '3.4.0' },
    example: 'express-openid-connect.mjs',
    package: npm('express-openid-connect', '3.4.0', [express[0]]),
    authentication: 'client_secret_post',
    resource: 'a setting',
    idToken: 'nobody',
    signOut: 'the library',
  },
  {
    ...{ family: 'node', name: 'passport-oauth2', version: '1.8.0' },
    example: 'passport-oauth2.mjs',
    package: npm('passport-oauth2', '1.8.0', [...express, 'passport@0.7.0', 'jose@6.2.17']),
    authentication: 'client_secret_post',
    resource: 'code of yours',
    idToken: 'the example, with another library',
    signOut: 'the example',
  },
  {
    ...{ family: 'node', name: '@fastify/oauth2', version: '8.3.0' },
    example: 'fastify-oauth2.mjs',
    package: npm('@fastify/oauth2', '8.3.0', [
      ...['fastify@5.12.8', '@fastify/cookie@11.1.5', '@fastify/session@11.1.3', 'jose@6.2.17'],
    ]),
    authentication: 'client_secret_post',
    resource: 'a setting',
    idToken: 'the example, with another library',
    signOut: 'the example',
  },
  {
    ...{ family: 'node', name: 'simple-oauth2', version: '5.1.0' },
    example: 'simple-oauth2.mjs',
    package: npm('simple-oauth2', '5.1.0', [...express, 'jose@6.2.17']),
    authentication: 'client_secret_post',
    resource: 'an argument of the call',
    idToken: 'the example, with another library',
    signOut: 'the example',
  },
  {
    ...{ family: 'node', name: 'arctic', version: '3.7.0' },
    example: 'arctic.mjs',
    package: npm('arctic', '3.7.0', [...express, 'jose@6.2.17']),
    authentication: 'client_secret_post',
    resource: 'code of yours',
    idToken: 'the example, with another library',
    signOut: 'the example',
  },
  {
    ...{ family: 'browser', name: 'oidc-client-ts', version: '3.5.0' },
    example: 'oidc-client-ts.js',
    package: npm('oidc-client-ts', '3.5.0', [esbuild]),
    authentication: 'none',
    resource: 'a setting',
    idToken: 'nobody',
    signOut: 'the library',
  },
  {
    ...{ family: 'browser', name: 'angular-oauth2-oidc', version: '22.0.2' },
    example: 'angular-oauth2-oidc.ts',
    package: npm('angular-oauth2-oidc', '22.0.2', [
      esbuild,
      ...['core', 'common', 'compiler', 'platform-browser'].map(
        (name) => `@angular/${name}@22.2.6`,
      ),
      ...['rxjs@7.8.2', 'zone.js@0.16.3'],
    ]),
    authentication: 'none',
    resource: 'a setting',
    idToken: 'nobody',
    signOut: 'the library',
  },
  {
    ...{ family: 'browser', name: 'oidc-spa', version: '10.2.11' },
    example: 'oidc-spa.js',
    package: npm('oidc-spa', '10.2.11', [esbuild]),
    callbackPath: '/',
    nonce: 'none',
    authentication: 'none',
    resource: 'a setting',
    idToken: 'nobody',
    signOut: 'the library',
  },
  {
    ...{ family: 'python', name: 'Authlib', version: '1.9.9' },
    example: 'authlib_flask.py',
    package: pypi('authlib', '1.9.9', ['flask==3.1.3', 'requests==2.34.2']),
    authentication: 'client_secret_post',
    resource: 'a setting',
    idToken: 'the library',
    signOut: 'the example',
  },
  {
    ...{ family: 'python', name: 'requests-oauthlib', version: '2.0.0' },
    example: 'requests_oauthlib_flask.py',
    package: pypi('requests-oauthlib', '2.0.0', ['flask==3.1.3', 'joserfc==1.8.0']),
    authentication: 'client_secret_basic',
    resource: 'an argument of the call',
    idToken: 'the example, with another library',
    signOut: 'the example',
  },
  {
    ...{ family: 'python', name: 'mozilla-django-oidc', version: '5.0.2' },
    example: 'mozilla_django_oidc_site.py',
    package: pypi('mozilla-django-oidc', '5.0.2', ['django==5.2.19']),
    callbackPath: '/oidc/callback/',
    authentication: 'client_secret_post',
    resource: 'code of yours',
    idToken: 'the library',
    signOut: 'the example',
  },
  {
    ...{ family: 'python', name: 'social-core, social-auth-app-django', version: '7.0.0' },
    example: 'social_core_django.py',
    package: pypi('social-auth-core', '7.0.0', ['social-auth-app-django==8.0.0', 'django==5.2.19']),
    callbackPath: '/complete/gatehouse/',
    authentication: 'client_secret_post',
    resource: 'code of yours',
    idToken: 'the library',
    signOut: 'the example',
  },
  {
    ...{ family: 'go', name: 'go-oidc with x/oauth2', version: '3.21.0' },
    example: 'go-oidc',
    shown: ['main.go'],
    package: { registry: 'go' },
    authentication: 'client_secret_post',
    resource: 'an argument of the call',
    idToken: 'the library',
    signOut: 'the example',
  },
  ...(['3.5.16', '4.1.1'] as const).map(
    (version): Library => ({
      ...{ family: 'java', version },
      name: version.startsWith('3') ? 'Spring Security 6, Boot 3' : 'Spring Security 7, Boot 4',
      section: 'Spring Security',
      example: 'spring-security',
      shown: ['src/main/resources/application.yaml', 'src/main/java/example/Application.java'],
      package: { registry: 'maven', springBoot: version },
      onlyWithAll: true,
      callbackPath: '/login/oauth2/code/gatehouse',
      authentication: 'client_secret_post',
      resource: 'a setting',
      idToken: 'the library',
      signOut: 'the library',
    }),
  ),
  {
    ...{ family: 'rust', name: 'openidconnect, the crate', version: '4.1.0' },
    example: 'openidconnect',
    shown: ['src/main.rs'],
    package: { registry: 'crates' },
    onlyWithAll: true,
    authentication: 'client_secret_post',
    resource: 'an argument of the call',
    idToken: 'the library',
    signOut: 'the library',
  },
  {
    ...{ family: 'apache', name: 'mod_auth_openidc', version: '2.4.12' },
    example: 'mod_auth_openidc.conf',
    package: {
      registry: 'debian',
      package: 'libapache2-mod-auth-openidc',
      file: '/usr/lib/apache2/modules/mod_auth_openidc.so',
    },
    onlyWithAll: true,
    authentication: 'client_secret_post',
    resource: 'a setting',
    idToken: 'the library',
    signOut: 'the library',
  },
]
