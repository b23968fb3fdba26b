/** Creates the pages on which a person asks for a link to sign up. They exist only if the site allows self sign-up. */

import type Router from 'koa-router'

import { signUpPage } from '../../../views/recover.ts'
import { type LinkRequests, SIGN_UP_SECONDS } from '../../directory/people/link-requests.ts'
import { findLook, siteLook } from '../../directory/sites/site-look.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { addressOf, nameOfSite, pages } from '../../platform/http/paths.ts'
import type { JoiningFlows } from '../../school/members/joining.ts'
import { type AskPorts, askRoutes } from './ask-routes.ts'

export interface SignUpPorts extends AskPorts {
  readonly linkRequests: LinkRequests
}

/** Registers the pages of self sign-up. */
export function signUpRoutes(router: Router, ports: SignUpPorts, joining: JoiningFlows): void {
  askRoutes(router, ports, {
    kind: 'address',
    ask: pages.signUp,
    sent: pages.signUpSent,
    livesSeconds: SIGN_UP_SECONDS,
    isCertain: true,
    async open(ctx) {
      const site = await joining.findSignUpSite(String(ctx['params'].site))
      if (!site) throw nothingHere()
      const named = { site: nameOfSite(site) }
      return {
        askHref: addressOf(pages.signUp, named),
        sentHref: addressOf(pages.signUpSent, named),
        look: siteLook(await findLook(ports.database, site.id)),
        page: (form) => signUpPage(form, site.name),
        request: async (request) => await ports.linkRequests.signUp(site.id, request),
      }
    },
  })
}
