import type { HtmlValue } from '../../../views/html.ts'
import {
  newAuthenticatorPage,
  recoveryCodesPage,
  secondFactorPage,
} from '../../../views/second-factor.ts'
import { text } from '../../../views/text.ts'
import type { SecondFactors } from '../../directory/people/second-factors.ts'
import { noticeOf } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { actorOf } from '../relying-party/page-session.ts'
import type { OwnPages } from '../relying-party/signed-in-pages.ts'
import type { AccountPages, Asked } from './account-pages.ts'

/** Creates the pages where a person sets up, renews and removes second factors. Changes need a fresh sign-in. */
export function secondFactorRoutes(
  accountPages: AccountPages,
  { now }: OwnPages,
  secondFactors: SecondFactors,
): void {
  const actorFor = ({ ctx, session }: Asked) => actorOf(ctx, session, now)

  const showNew = async ({ area }: Asked, proposal: Proposal, problem?: HtmlValue) => {
    const { encodeQR } = await import('qr')
    // Add a white background with a quiet zone, so cameras can read the QR code in dark mode, too.
    const svg = encodeQR(proposal.uri, 'svg').replace(
      '<path',
      '<path fill="#fff" d="M0 0h999v999H0Z"/><path',
    )
    const image = `data:image/svg+xml,${encodeURIComponent(svg)}`
    const hrefs = { action: pages.confirmAuthenticator, cancelHref: pages.secondFactor }
    return newAuthenticatorPage({ area, ...proposal, image, ...hrefs, problem })
  }
  const showCodes = ({ area }: Asked, codes: readonly string[] | undefined) =>
    codes ? recoveryCodesPage({ area, codes, nextHref: pages.secondFactor }) : pages.secondFactor

  accountPages.page(pages.secondFactor, async ({ ctx, area, session }) =>
    secondFactorPage({
      area,
      app: await secondFactors.find(session.person.id),
      actions: {
        add: pages.addAuthenticator,
        codes: pages.recoveryCodes,
        remove: pages.removeSecondFactor,
      },
      sessionsHref: pages.sessions,
      passkeysHref: pages.passkeys,
      done: noticeOf(ctx, {
        removed: text('secondFactor.wasRemoved'),
      }),
    }),
  )
  const fresh = (pattern: string, answer: Parameters<typeof accountPages.freshForm>[2]) =>
    accountPages.freshForm(pattern, pages.secondFactor, answer)
  fresh(pages.addAuthenticator, async (asked) => {
    const { person, sessionId } = asked.session
    if (await secondFactors.find(person.id)) return pages.secondFactor
    return await showNew(asked, await secondFactors.propose(person.email, sessionId))
  })
  fresh(pages.confirmAuthenticator, async (asked) => {
    const { ctx, session } = asked
    const [sealed, code] = [formField(ctx, 'sealed'), formField(ctx, 'code')]
    const typed = { sealed, session: session.sessionId, code }
    const codes = await secondFactors.confirm(typed, actorFor(asked))
    if (codes) return showCodes(asked, codes)
    ctx.status = 422
    const proposal = await secondFactors.propose(session.person.email, session.sessionId, sealed)
    return await showNew(asked, proposal, text('secondFactor.wrongCode'))
  })
  fresh(pages.recoveryCodes, async (asked) =>
    showCodes(asked, await secondFactors.renewCodes(actorFor(asked))),
  )
  fresh(pages.removeSecondFactor, async (asked) => {
    await secondFactors.remove(actorFor(asked))
    return `${pages.secondFactor}?done=removed`
  })
}

type Proposal = Awaited<ReturnType<SecondFactors['propose']>>
