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
import type { AccountPages, Asked } from './account-pages.ts'

/** Creates the pages where a person sets up, renews and removes second factors. Changes need a fresh sign-in. */
export function secondFactorRoutes(accountPages: AccountPages, secondFactors: SecondFactors): void {
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
      actions,
      sessionsHref: pages.sessions,
      passkeysHref: pages.passkeys,
      done: noticeOf(ctx, { removed: text('secondFactor.wasRemoved') }),
    }),
  )
  const fresh = (pattern: string, answer: Parameters<typeof accountPages.freshForm>[2]) =>
    accountPages.freshForm(pattern, pages.secondFactor, answer)
  fresh(actions.add, async (asked) => {
    const { person, sessionId } = asked.session
    if (await secondFactors.find(person.id)) return pages.secondFactor
    return await showNew(asked, await secondFactors.propose(person.email, sessionId))
  })
  fresh(pages.confirmAuthenticator, async (asked) => {
    const { ctx, session, actor } = asked
    const [sealed, code] = [formField(ctx, 'sealed'), formField(ctx, 'code')]
    const typed = { sealed, session: session.sessionId, code }
    const codes = await secondFactors.confirm(typed, actor)
    if (codes) return showCodes(asked, codes)
    ctx.status = 422
    const proposal = await secondFactors.propose(session.person.email, session.sessionId, sealed)
    return await showNew(asked, proposal, text('secondFactor.wrongCode'))
  })
  fresh(actions.codes, async (asked) =>
    showCodes(asked, await secondFactors.renewCodes(asked.actor)),
  )
  fresh(actions.remove, async ({ actor }) => {
    await secondFactors.remove(actor)
    return `${pages.secondFactor}?done=removed`
  })
}

const actions = {
  add: pages.addAuthenticator,
  codes: pages.recoveryCodes,
  remove: pages.removeSecondFactor,
}

type Proposal = Awaited<ReturnType<SecondFactors['propose']>>
