import {
  addPasskeyPage,
  identitiesPage,
  PASSKEY_NAME_CHARACTERS_MAX,
  passkeysPage,
} from '../../../views/account-sign-in-methods.ts'
import type { HtmlValue } from '../../../views/html.ts'
import {
  newAuthenticatorPage,
  recoveryCodesPage,
  secondFactorPage,
} from '../../../views/second-factor.ts'
import { deviceText, text } from '../../../views/text.ts'
import type { LinkedIdentities } from '../../directory/people/linked-identities.ts'
import type { Passkeys } from '../../directory/people/passkeys.ts'
import type { SecondFactors } from '../../directory/people/second-factors.ts'
import { findSiteNames } from '../../directory/sites/site-choice.ts'
import { describeDevice } from '../../platform/http/browser.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { invalid } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import type { AccountPages, Asked } from './account-pages.ts'

/** Creates the pages on which a person lists, adds and removes passkeys. */
export function passkeyRoutes(accountPages: AccountPages, passkeys: Passkeys): void {
  accountPages.page(pages.passkeys, async ({ session: { person } }) =>
    passkeysPage({
      passkeys: await passkeys.list(person.id),
      hrefs: pages,
      areAvailable: passkeys.areAvailable,
    }),
  )

  const showForm = async ({ session }: Asked, name: HtmlValue, problem?: HtmlValue) => {
    const { person, sessionId } = session
    const existing = (await passkeys.list(person.id)).map(({ id }) => id)
    const options = passkeys.creationOptions(person, sessionId, existing)
    if (!options) throw nothingHere()
    return addPasskeyPage({ listHref: pages.passkeys, name, problem, options })
  }
  // Ask for a sign-in before the browser creates a passkey. Asking afterwards would discard the new passkey.
  accountPages.freshPage(pages.addPasskey, async (asked) =>
    showForm(asked, deviceText(describeDevice(asked.ctx.get('user-agent')))),
  )
  accountPages.freshForm(pages.addPasskey, pages.addPasskey, async (asked) => {
    const { ctx, session, actor } = asked
    const sent = formField(ctx, 'credential')
    const name = formField(ctx, 'name').trim().slice(0, PASSKEY_NAME_CHARACTERS_MAX) || 'Passkey'
    const refusal = await passkeys.add(sent, session.sessionId, name, actor)
    if (refusal === undefined) return `${pages.passkeys}?done=added`
    return invalid(ctx, await showForm(asked, name, text(`passkeys.${refusal}`)))
  })
  // The response is the same for an unknown passkey and for another person's passkey.
  accountPages.freshForm(pages.removePasskey, pages.passkeys, async ({ ctx, actor }) => {
    await passkeys.remove(formField(ctx, 'passkey'), actor)
    return `${pages.passkeys}?done=removed`
  })
}

/** Creates the page on which a person lists and removes linked identities. */
export function identityRoutes(
  { database, page, freshForm }: AccountPages,
  identities: LinkedIdentities,
): void {
  const show = async ({ session: { person } }: Asked, problem?: HtmlValue) => {
    const nameOf = await findSiteNames(database, person.id)
    const linked = await identities.list(person.id)
    return identitiesPage({
      identities: linked.map((each) => ({
        ...each,
        siteName: each.siteId && nameOf({ id: each.siteId, name: each.siteName ?? '' }),
      })),
      hrefs: pages,
      problem,
    })
  }
  page(pages.linkedIdentities, async (asked) => await show(asked))
  // The response is the same for an unknown identity and for another person's identity.
  freshForm(pages.removeIdentity, pages.linkedIdentities, async (asked) => {
    const { ctx, actor } = asked
    const [issuer, subject] = [formField(ctx, 'issuer'), formField(ctx, 'subject')]
    const identity = { providerId: formField(ctx, 'provider'), issuer, subject }
    const isLastWay = await identities.remove(identity, actor)
    if (!isLastWay) return `${pages.linkedIdentities}?done=removed`
    return invalid(ctx, await show(asked, text('identities.last')))
  })
}

/** Creates the pages for a person's authenticator app and its recovery codes. Changes require a recent sign-in. */
export function secondFactorRoutes(accountPages: AccountPages, secondFactors: SecondFactors): void {
  const showNew = async (proposal: Proposal, problem?: HtmlValue) => {
    const { encodeQR } = await import('qr')
    // Add a white background with a quiet zone, so cameras can read the QR code in dark mode, too.
    const svg = encodeQR(proposal.uri, 'svg').replace(
      '<path',
      '<path fill="#fff" d="M0 0h999v999H0Z"/><path',
    )
    const image = `data:image/svg+xml,${encodeURIComponent(svg)}`
    return newAuthenticatorPage({ ...proposal, image, hrefs: pages, problem })
  }
  const showCodes = (codes: readonly string[] | undefined) =>
    codes ? recoveryCodesPage({ codes, nextHref: pages.secondFactor }) : pages.secondFactor

  accountPages.page(pages.secondFactor, async ({ session }) =>
    secondFactorPage({ app: await secondFactors.find(session.person.id), hrefs: pages }),
  )
  const fresh = (pattern: string, answer: Parameters<typeof accountPages.freshForm>[2]) =>
    accountPages.freshForm(pattern, pages.secondFactor, answer)
  fresh(pages.addAuthenticator, async ({ session: { person, sessionId } }) => {
    if (await secondFactors.find(person.id)) return pages.secondFactor
    return await showNew(await secondFactors.propose(person.email, sessionId))
  })
  fresh(pages.confirmAuthenticator, async ({ ctx, session, actor }) => {
    const [sealed, code] = [formField(ctx, 'sealed'), formField(ctx, 'code')]
    const typed = { sealed, session: session.sessionId, code }
    const codes = await secondFactors.confirm(typed, actor)
    if (codes) return showCodes(codes)
    const proposal = await secondFactors.propose(session.person.email, session.sessionId, sealed)
    return invalid(ctx, await showNew(proposal, text('secondFactor.wrongCode')))
  })
  fresh(pages.recoveryCodes, async ({ actor }) => showCodes(await secondFactors.renewCodes(actor)))
  fresh(pages.removeSecondFactor, async ({ actor }) => {
    await secondFactors.remove(actor)
    return `${pages.secondFactor}?done=removed`
  })
}

type Proposal = Awaited<ReturnType<SecondFactors['propose']>>
