import type { Context } from 'koa'

import type { Page } from '../../../views/layout.ts'
import { sendPage } from '../../platform/http/page.ts'
import { contentSecurityPolicy, formTarget } from '../../platform/http/security-headers.ts'
import type { PendingInteraction } from './pending-interaction.ts'

/** The page's forms lead to the application in the end, which its policy has to allow. */
export function showPage(
  ctx: Context,
  { redirectUri }: Pick<PendingInteraction, 'redirectUri'>,
  page: Page,
): void {
  sendPage(ctx, page)
  ctx.set('Content-Security-Policy', contentSecurityPolicy([formTarget(redirectUri)]))
}
