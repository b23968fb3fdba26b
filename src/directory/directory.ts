/** Composes sign-in, the store of people and mail. Other rooms import functions for sites and scopes directly. */

import type { Platform } from '../platform/platform.ts'
import { type MailSettings, makeMail } from './mail/mail.ts'
import { makeAttemptLimits } from './people/attempt-limits.ts'
import { makeSignIn } from './people/authenticate.ts'
import { makeCredentialStore } from './people/credential-store.ts'
import { makeKnownBrowsers } from './people/known-browsers.ts'
import { makeOneTimeLinks } from './people/one-time-links.ts'
import { makePasswords, type PasswordLimits } from './people/password.ts'
import { makePersonStore } from './people/person-store.ts'
import { makeRecovery } from './people/recovery.ts'
import { makeRenewHash } from './people/renew-hash.ts'

export type Directory = ReturnType<typeof makeDirectory>

interface DirectorySettings extends MailSettings, Pick<PasswordLimits, 'firebaseSignerKey'> {
  readonly service: MailSettings['service'] & {
    readonly signIn: PasswordLimits & { readonly knownBrowserSeconds: number }
  }
}

interface DirectoryKeys {
  /** The number of processes on this host that hash passwords. */
  readonly processes: number
  readonly browserKeys: readonly Buffer[]
  readonly linkKeys: readonly Buffer[]
}

/** Disposing the result closes the connections to the mail server. */
export function makeDirectory(
  platform: Platform,
  settings: DirectorySettings,
  { processes, browserKeys, linkKeys }: DirectoryKeys,
) {
  const { database, requestLimits, now, watch, outbox, logger } = platform
  const policy = settings.service.signIn
  const [standInKey = Buffer.alloc(0)] = browserKeys
  const people = makePersonStore(database)
  const store = makeCredentialStore(database, standInKey)
  const { parallelHashesMax, waitingHashesMax } = policy
  const { firebaseSignerKey } = settings
  const hashing = { parallelHashesMax, waitingHashesMax, firebaseSignerKey }
  const passwords = makePasswords(hashing, processes)
  const renewHash = makeRenewHash({ store, passwords, logger })
  const limits = makeAttemptLimits(requestLimits)
  const links = makeOneTimeLinks(linkKeys)
  const browsers = makeKnownBrowsers({ browserKeys, now, seconds: policy.knownBrowserSeconds })
  const mail = makeMail(platform, settings, links)
  const { queueMail } = mail
  const recovery = makeRecovery({ database, links, queueMail, limits: requestLimits, now })
  return {
    signIn: watch.signIn(makeSignIn({ store, passwords, limits, browsers, renewHash })),
    links,
    queueMail,
    recovery,
    people: {
      findPerson: people.findPerson,
      signOutSession: people.signOutSession,
      signOutEverywhere: people.signOutEverywhere,
      hashPassword: passwords.hash,
      waitingHashes: passwords.waiting,
      knownBrowserSeconds: policy.knownBrowserSeconds,
    },
    tasks: [outbox.task({ mail: mail.handler })],
    [Symbol.dispose]: mail.close,
  }
}
