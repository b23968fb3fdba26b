/** Composes sign-in, mail and the person store. Other folders import the functions for sites and scopes directly. */

import type { Seals } from '../platform/http/kept-values.ts'
import type { Platform } from '../platform/platform.ts'
import { type MailSettings, makeMail } from './mail/mail.ts'
import { makeAttemptLimits } from './people/attempt-limits.ts'
import { makeSignIn } from './people/authenticate.ts'
import { makeBrowserSessions, type SessionLifetimes } from './people/browser-sessions.ts'
import { makeCredentialStore } from './people/credential-store.ts'
import {
  type ConfiguredProvider,
  makeProviderSignIn,
  withSecrets,
} from './people/identity-providers.ts'
import { makeKnownBrowsers } from './people/known-browsers.ts'
import { makeLinkRequests } from './people/link-requests.ts'
import { makeLinkedIdentities } from './people/linked-identities.ts'
import { makeOneTimeLinks } from './people/one-time-links.ts'
import { makePasskeys } from './people/passkeys.ts'
import { makePasswords, type PasswordLimits } from './people/password.ts'
import {
  type HookParts,
  makePasswordHook,
  type PasswordHookSettings,
} from './people/password-hook.ts'
import { makePersonStore } from './people/person-store.ts'
import { makeSecondFactors } from './people/second-factors.ts'
import { makeListProviders, makeSiteProviders } from './people/site-providers.ts'

export type Directory = ReturnType<typeof makeDirectory>

interface DirectorySettings extends MailSettings {
  readonly firebaseSignerKey: string | undefined
  readonly providerSecrets: Readonly<Record<string, string>>
  readonly service: MailSettings['service'] & {
    readonly signIn: PasswordLimits & {
      readonly knownBrowserSeconds: number
      readonly passwordCheck: PasswordHookSettings | null
      readonly identityProviders: readonly ConfiguredProvider[]
    }
    readonly lifetimes: SessionLifetimes
  }
}

interface DirectoryKeys {
  /** Returns the private key that signs requests to the platform. */
  readonly platformKey: HookParts['signingKey']
  /** The number of processes on this host that hash passwords. */
  readonly processes: number
  readonly secretRoot: Seals & { readonly linkKeys: readonly Buffer[]; readonly formKey: Buffer }
}

/** Creates sign-in, mail and the person store. Disposing the result closes the connections to the mail server. */
export function makeDirectory(
  platform: Platform,
  settings: DirectorySettings,
  { processes, secretRoot, platformKey }: DirectoryKeys,
) {
  const { database, requestLimits, now, watch, logger, fetch } = platform
  const { baseUrl } = settings
  const { signIn: policy, name: serviceName } = settings.service
  const { linkKeys, formKey } = secretRoot
  const people = makePersonStore(database, now)
  const store = makeCredentialStore(database, formKey)
  const passwords = makePasswords(policy, processes, settings.firebaseSignerKey)
  const { passwordCheck } = policy
  const asking = { fetch, logger, now, issuer: baseUrl, signingKey: platformKey }
  const hook = passwordCheck === null ? undefined : makePasswordHook(passwordCheck, asking)
  const limits = makeAttemptLimits(requestLimits)
  const links = makeOneTimeLinks(linkKeys)
  const browsers = makeKnownBrowsers(now, policy.knownBrowserSeconds)
  const mail = makeMail(platform, settings, links)
  const ofFactors = { database, limits: requestLimits, now }
  const linkRequests = makeLinkRequests(ofFactors)
  const passkeys = makePasskeys(ofFactors, { browsers, challengeKey: formKey, baseUrl })
  const signInPorts = { store, passwords, limits, browsers, logger, hook }
  const siteProviders = makeSiteProviders(database, secretRoot)
  const platformProviders = withSecrets(policy.identityProviders, settings.providerSecrets)
  const listProviders = makeListProviders(platformProviders, siteProviders)
  return {
    passkeys,
    secondFactors: makeSecondFactors(ofFactors, { passkeys, seals: secretRoot, serviceName }),
    siteProviders,
    providers: makeProviderSignIn({ baseUrl, fetch, now }, listProviders),
    identities: makeLinkedIdentities({ database, browsers, platformProviders, now }),
    signIn: watch.signIn(makeSignIn(signInPorts)),
    links,
    notices: mail.notices,
    linkRequests,
    browserSessions: makeBrowserSessions(database, settings.service.lifetimes, now),
    people,
    passwords,
    knownBrowserSeconds: policy.knownBrowserSeconds,
    mailHandler: mail.handler,
    [Symbol.dispose]: mail.close,
  }
}
