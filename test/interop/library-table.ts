import { join } from 'node:path'

import type { Package } from '../support/install.ts'
import type { Modules } from './install-modules.ts'

/** Folders of examples/, and the pages of docs/libraries/ that show their programs. */
export const pages = {
  ...{ node: 'node', browser: 'browser', python: 'python', go: 'go', java: 'java' },
  ...{ rust: 'others', apache: 'others' },
} as const

export type Family = keyof typeof pages

/** A library with a program that `npm run test:interop` runs. */
export interface Library {
  readonly name: string
  readonly version: string
  readonly family: Family
  /** Its program in the folder of its family: a file, or a folder to build. */
  readonly example: string
  /** If `example` is a folder, the files in it that the page in docs/libraries/ shows. */
  readonly shown?: readonly string[]
  /** The heading of its section on that page, if it is not the name. */
  readonly section?: string
  readonly package: Package | Modules
  /** Runs only with `--all`, because its build is too expensive for continuous integration. */
  readonly onlyWithAll?: true
  /** How the program authenticates at the token endpoint. */
  readonly authentication: 'client_secret_post' | 'client_secret_basic' | 'none'
  /** How `resource` gets into the token request. */
  readonly resource: 'a setting' | 'a call argument' | 'your own code'
  /**
   * What verifies the signature of the id_token. Each program also gets a forged id_token. Verification is optional,
   * because the token comes from the service over TLS (OpenID Connect Core 1.0 §3.1.3.7).
   */
  readonly idToken: 'the library' | 'the example, with another library' | 'none'
  /** The library sends no nonce, but PKCE and `state` bind the code. */
  readonly nonce?: 'none'
  readonly callbackPath?: string
}

const usual = { authentication: 'client_secret_post', idToken: 'the library' } as const
const jose = { idToken: 'the example, with another library' } as const
const unverified = { idToken: 'none' } as const
const aSetting = { resource: 'a setting' } as const
const anArgument = { resource: 'a call argument' } as const
const ownCode = { resource: 'your own code' } as const

/** Returns the version and package of a library that is pinned on npm (`name@1.2.3`) or PyPI (`name==1.2.3`). */
function of(pinned: string, ...others: readonly string[]): Pick<Library, 'version' | 'package'> {
  const [, name = '', at = '', version = ''] = /^(.+)(@|==)(.+)$/.exec(pinned) ?? []
  return {
    version,
    package: { registry: at === '@' ? 'npm' : 'pypi', name, version, with: others },
  }
}

const node = { family: 'node', ...usual } as const
const browser = { family: 'browser', authentication: 'none', ...aSetting, ...unverified } as const
const python = { family: 'python', ...usual } as const
const build = 'esbuild@0.28.2'
const express = 'express@5.3.0'
const app = [express, 'express-session@1.19.0'] as const
const appWithJose = [...app, 'jose@6.2.17'] as const
const next = ['next@15.5.29', 'react@19.3.1', 'react-dom@19.3.1']
const fastify = [
  ...['fastify@5.12.8', '@fastify/cookie@11.1.5', '@fastify/session@11.1.3', 'jose@6.2.17'],
]
const angular = ['core', 'common', 'compiler', 'platform-browser'].map(
  (name) => `@angular/${name}@22.2.6`,
)
const django = 'django==5.2.19'

export const libraries: readonly Library[] = [
  {
    ...{ ...node, ...anArgument, name: 'openid-client 6', example: 'openid-client-6.mjs' },
    ...of('openid-client@6.8.9', ...app),
  },
  {
    ...{ ...node, ...anArgument, name: 'openid-client 5', example: 'openid-client-5.mjs' },
    ...of('openid-client@5.7.1', ...app),
  },
  {
    ...{ ...node, ...anArgument, name: 'oauth4webapi', example: 'oauth4webapi.mjs' },
    ...of('oauth4webapi@3.8.8', ...app),
  },
  {
    ...{ ...node, ...ownCode, ...unverified, name: 'Auth.js, @auth/core', example: 'authjs.mjs' },
    ...of('@auth/core@0.41.3', '@auth/express@0.12.3', express),
    callbackPath: '/auth/callback/gatehouse',
  },
  {
    ...{ ...node, ...ownCode, name: 'next-auth 4', example: 'next-auth-4.mjs' },
    ...of('next-auth@4.24.15', express, 'cookie-parser@1.4.7', ...next),
    callbackPath: '/api/auth/callback/gatehouse',
  },
  {
    ...{ ...node, ...aSetting, name: 'better-auth, genericOAuth', example: 'better-auth.mjs' },
    ...of('better-auth@1.7.25', express),
    callbackPath: '/api/auth/callback/gatehouse',
  },
  {
    ...{ ...node, ...aSetting, ...unverified, name: 'express-openid-connect' },
    ...{ example: 'express-openid-connect.mjs', ...of('express-openid-connect@3.4.0', express) },
  },
  {
    ...{ ...node, ...ownCode, ...jose, name: 'passport-oauth2', example: 'passport-oauth2.mjs' },
    ...of('passport-oauth2@1.8.0', ...appWithJose, 'passport@0.7.0'),
  },
  {
    ...{ ...node, ...aSetting, ...jose, name: '@fastify/oauth2', example: 'fastify-oauth2.mjs' },
    ...of('@fastify/oauth2@8.3.0', ...fastify),
  },
  {
    ...{ ...node, ...anArgument, ...jose, name: 'simple-oauth2', example: 'simple-oauth2.mjs' },
    ...of('simple-oauth2@5.1.0', ...appWithJose),
  },
  {
    ...{ ...node, ...ownCode, ...jose, name: 'arctic', example: 'arctic.mjs' },
    ...of('arctic@3.7.0', ...appWithJose),
  },
  {
    ...{ ...browser, name: 'oidc-client-ts', example: 'oidc-client-ts.js' },
    ...of('oidc-client-ts@3.5.0', build),
  },
  {
    ...{ ...browser, name: 'angular-oauth2-oidc', example: 'angular-oauth2-oidc.ts' },
    ...of('angular-oauth2-oidc@22.0.2', build, 'rxjs@7.8.2', 'zone.js@0.16.3', ...angular),
  },
  {
    ...{ ...browser, name: 'oidc-spa', example: 'oidc-spa.js', callbackPath: '/', nonce: 'none' },
    ...of('oidc-spa@10.2.11', build),
  },
  {
    ...{ ...python, ...aSetting, name: 'Authlib', example: 'authlib_flask.py' },
    ...of('authlib==1.9.9', 'flask==3.1.3', 'requests==2.34.2'),
  },
  {
    ...{ ...python, ...anArgument, ...jose, authentication: 'client_secret_basic' },
    ...{ name: 'requests-oauthlib', example: 'requests_oauthlib_flask.py' },
    ...of('requests-oauthlib==2.0.0', 'flask==3.1.3', 'joserfc==1.8.0'),
  },
  {
    ...{ ...python, ...ownCode, name: 'mozilla-django-oidc' },
    ...{ example: 'mozilla_django_oidc_site.py', callbackPath: '/oidc/callback/' },
    ...of('mozilla-django-oidc==5.0.2', django),
  },
  {
    ...{ ...python, ...ownCode, name: 'social-core, social-auth-app-django' },
    ...{ example: 'social_core_django.py', callbackPath: '/complete/gatehouse/' },
    ...of('social-auth-core==7.0.0', 'social-auth-app-django==8.0.0', django),
  },
  {
    ...{ ...usual, ...anArgument, family: 'go', name: 'go-oidc with x/oauth2', version: '3.21.0' },
    ...{ example: 'go-oidc', shown: ['main.go'] },
    package: {
      ...{ registry: 'go', name: 'github.com/coreos/go-oidc/v3', version: '3.21.0' },
      source: join(import.meta.dirname, '../../examples/go/go-oidc'),
    },
  },
  ...(['3.5.16', '4.1.1'] as const).map(
    (version): Library => ({
      ...{ ...usual, ...aSetting, family: 'java', version, onlyWithAll: true },
      name: version.startsWith('3') ? 'Spring Security 6, Boot 3' : 'Spring Security 7, Boot 4',
      section: 'Spring Security',
      example: 'spring-security',
      shown: ['src/main/resources/application.yaml', 'src/main/java/example/Application.java'],
      package: { registry: 'maven', springBoot: version },
      callbackPath: '/login/oauth2/code/gatehouse',
    }),
  ),
  {
    ...{ ...usual, ...anArgument, family: 'rust', name: 'openidconnect (Rust crate)' },
    ...{ version: '4.1.0', onlyWithAll: true, package: { registry: 'crates' } },
    ...{ example: 'openidconnect', shown: ['src/main.rs'] },
  },
  {
    ...{ ...usual, ...aSetting, family: 'apache', name: 'mod_auth_openidc', version: '2.4.12' },
    ...{ example: 'mod_auth_openidc.conf', onlyWithAll: true },
    package: {
      registry: 'debian',
      package: 'libapache2-mod-auth-openidc',
      file: '/usr/lib/apache2/modules/mod_auth_openidc.so',
    },
  },
]
