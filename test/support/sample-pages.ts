import { contrastOf } from '../../src/directory/sites/site-look.ts'
import { pages as hrefs } from '../../src/platform/http/paths.ts'
import { connectedAppsPage } from '../../views/account-apps.ts'
import { deletionPage } from '../../views/account-data.ts'
import { accountHomePage } from '../../views/account-home.ts'
import { notificationsPage } from '../../views/account-notifications.ts'
import { identitiesPage, passkeysPage } from '../../views/account-sign-in-methods.ts'
import { appearancePage, lookPreviewPage } from '../../views/admin-appearance.ts'
import { twoFactorsPage } from '../../views/admin-two-factors.ts'
import { webhookPage, webhooksPage } from '../../views/admin-webhooks.ts'
import { apiPage } from '../../views/api-pages.ts'
import { type AreaPage, confirmPage, inArea } from '../../views/area.ts'
import type { ClientView } from '../../views/client-view.ts'
import { consentPage } from '../../views/consent.ts'
import { errorPage } from '../../views/error.ts'
import { trusted } from '../../views/html.ts'
import { joinPage, newAccountPage, otherAccountPage } from '../../views/joining.ts'
import { layout, type Page as View } from '../../views/layout.ts'
import { mailFolderPage } from '../../views/mail-folder.ts'
import { notePage } from '../../views/note-page.ts'
import {
  factorResetPage,
  linkSentPage,
  newPasswordPage,
  recoverPage,
  signUpPage,
} from '../../views/recover.ts'
import {
  newAuthenticatorPage,
  recoveryCodesPage,
  secondFactorPage,
  secondStepPage,
} from '../../views/second-factor.ts'
import { signInPage } from '../../views/sign-in.ts'
import { signedOutPage, signOutPage } from '../../views/sign-out.ts'
import { siteChoicePage } from '../../views/site-choice.ts'
import { styleGuidePage } from '../../views/style-guide.ts'
import { stylesheet } from '../../views/stylesheet.ts'
import { inLink, timeOf } from '../../views/text.ts'
import { uploadPage } from '../../views/upload.ts'
import { welcomePage } from '../../views/welcome.ts'
import { png } from './files.ts'

export const english = { language: 'en', timeZone: 'UTC' }
export const policy =
  "default-src 'none'; style-src 'self'; img-src 'self' https: data:; base-uri 'none'; " +
  "frame-ancestors 'none'"

export const client: ClientView = {
  ...{ name: 'Course Companion', kind: 'vendor', host: 'app.companion.example' },
}
export const person = { name: 'Ada Lindqvist', email: 'ada@harbour.example' }
const scopeText = (text: string) => ({ name: text, text })
const seen = ['your name, picture and your roles at the school', 'your e-mail address']
export const canSee = seen.map(scopeText)
export const canChange = ['which notifications are read and which you receive'].map(scopeText)

/** Renders a page without its scripts, which have a separate file and tests. */
export const withoutScripts = (page: View) => markupOf({ ...page, scripts: undefined })

export const hrefOf = ({ file }: { readonly file: string }) => `/assets/${file}`

export function markupOf(page: View | undefined): string {
  if (!page) return ''
  const frame = { serviceName: 'Harbour & Hill', stylesheetHref: hrefOf(stylesheet) }
  return layout(page, frame).for(english)
}

/** The values that people and clients supply and that pages show. */
type Values = typeof samples

const samples = {
  client: { ...client, siteName: 'Harbour School' } as ClientView,
  person,
  sites: [
    { id: 'sit_1', name: 'Harbour School', roles: ['owner', 'lecturer'] },
    { id: 'sit_2', name: 'Night College', roles: ['admin'] },
  ],
  ...{ canSee, canChange, csrf: 'a-secret', password: 'demo-ada' },
  words: 'Hi.\nHello.',
  problem: 'This is not valid.',
  address: (path: string) => path,
}

const engineForm = trusted(
  '<form id="op.logoutForm" method="post" action="/out"><input type="hidden" name="xsrf" value="x"/></form>',
)
const onePixel = `data:image/png;base64,${png.toString('base64')}`
const wideLogo = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" width="600" height="90"/>')}`
export const kinds = [
  ...(['vendor', 'operator-created', 'self-declared', 'reviewed', 'loopback'] as const),
  ...(['vendor-connection', 'vendor-on-device', 'acts-for-owner'] as const),
]

/** The properties that most pages need. */
const givenOf = ({ client, person, sites, csrf, address }: Values) => ({
  ...{ client, person, sites, csrf, hrefs, siteName: sites[0]?.name ?? '' },
  ...{ action: address('/answer'), deny: address('/deny'), connectHref: address('/connect') },
  ...{ email: person.email, charactersMin: 15, needsCode: false },
})

const consentOf = (values: Values) => {
  const { sites, canSee, canChange, address } = values
  return { ...givenOf(values), canSee, canChange, signOutHref: address('/out'), site: sites[0] }
}

export const consent = consentOf(samples)

export const pages: Record<string, View> = {
  ...pagesOf(samples),
  'sign-out-of-nobody': signOutPage({ form: engineForm, addressIgnored: true }),
  'style-guide': styleGuidePage(contrastOf),
  'mail-empty': mailFolderPage({ folder: 'data/mail', messages: [] }),
}

/** Returns the pages of `pagesOf`, with `text` as each value from people and clients. */
export function pagesWith(text: string): Record<string, View> {
  return pagesOf({
    client: { ...client, name: text, host: text, siteName: text },
    person: { name: text, email: text },
    sites: [{ id: text, name: text, roles: [text, 'admin'] }],
    ...{ canSee: [scopeText(text)], canChange: [scopeText(text)] },
    ...{ csrf: text, password: text, words: text, problem: text },
    address: (path) => `${path}?${text}`,
  })
}

function pagesOf(values: Values): Record<string, View> {
  const { client, person, words, problem, address, canSee } = values
  const given = givenOf(values)
  const signIn = { ...given, recoverHref: address('/recover') }
  const provider = { id: 'acme', name: words, href: address('/provider') }
  const again = { login: person.email, problem, factorsHref: address('/factors') }
  const step = { ...given, hasApp: true, options: undefined }
  const reset = { action: address('/reset'), notBefore: false } as const
  const failure = { description: problem, connectHref: address('/connect') }
  const sentAddress = address('http://portal.example/')
  const app = { name: words, href: address('https://app.example') }
  const added = new Set(canSee.map(({ name }) => name))
  const rest = [...'abcde'].map((end) => scopeText(`${end} of the school`))
  const siteWords = { siteName: given.siteName, text: words }
  const links = [{ href: address('/docs'), label: words, what: words }]
  const message = { subject: words, to: person.email, date: words, href: address('/mail/1') }
  const consentOfKind = (kind: ClientView['kind']) =>
    consentPage({ ...consentOf(values), client: { ...client, kind }, words: siteWords })
  return {
    'sign-in': signInPage(signIn),
    'other-way': notePage('other-way', address('/account')),
    'sign-in-with-provider': signInPage({ ...signIn, note: words, providers: [provider] }),
    'sign-in-again': signInPage({ ...signIn, ...again }),
    'sign-in-of-site': {
      ...signInPage({ ...signIn, signUpHref: address('/sign-up'), words: siteWords }),
      look: { name: given.siteName, logoHref: onePixel, colorsHref: hrefOf(stylesheet) },
    },
    'second-step': secondStepPage({ ...step, problem, reset: undefined }),
    'second-step-with-reset': secondStepPage({ ...step, reset }),
    ...inAreas(values),
    'appearance-preview': lookPreviewPage({
      ...{ look: undefined, siteName: given.siteName, words, language: undefined },
    }),
    'site-choice': siteChoicePage(given),
    'site-choice-again': siteChoicePage({ ...given, problem }),
    ...Object.fromEntries(kinds.map((kind) => [`consent-${kind}`, consentOfKind(kind)])),
    'consent-of-more': consentPage({ ...consentOf(values), added, canSee: [...canSee, ...rest] }),
    ...signedOutPages(values),
    ...uploadPages(values),
    error: errorPage({ ...failure, code: words, errorId: words, sentAddress }),
    'error-forbidden': errorPage({
      ...{ code: 'forbidden', description: problem, isOwn: true, switchHref: address('/switch') },
    }),
    'error-of-app': errorPage({ ...failure, code: 'invalid_scope', accountHref: '/account', app }),
    'member-api': apiPage('member', words, links),
    'sign-out': signOutPage({ form: engineForm, client }),
    'signed-out': signedOutPage({ client, homeHref: address('/') }),
    mail: mailFolderPage({ folder: words, messages: [message] }),
    welcome: welcomePage({
      ...{ accountHref: '/account', connectHref: '/connect', baseUrl: words, links },
      mailHref: '/mail',
      demoPeople: [{ login: person.email, password: values.password, what: words }],
    }),
  }
}

/** The pages of signed-in people, each with the navigation of an area. */
function inAreas(values: Values): Record<string, View> {
  const { person, csrf, address, words } = values
  const link = [address('/apps'), 'account.apps', 'layout-grid'] as const
  const entries = [link, 'nav.security', link] as const
  const session = { person, csrf, path: address('/account') }
  const area = { name: 'Your account', look: undefined, entries, hrefs, ...session }
  const all: Record<string, AreaPage> = {
    ...accountPages(values),
    ...factorPages(values),
    ...appearancePages(values),
    ...webhookPages(values),
  }
  const whole = Object.entries(all).map(([name, page]) => [name, inArea(page, area, words)])
  const name = values.sites[0]?.name ?? ''
  const look = { name, logoHref: wideLogo, colorsHref: hrefOf(stylesheet) }
  return {
    ...Object.fromEntries(whole),
    'account-of-site': inArea(accountPages(values)['account-empty'], { ...area, look }, words),
  }
}

function accountPages(values: Values) {
  const { client, sites, canSee, canChange, words, address } = values
  const given = givenOf(values)
  const times = { grantedAt: 1.8e12, lastUsedAt: undefined, calls: 3 }
  const place = { assistant: null, siteName: words, removeHref: address('/remove') }
  const app = { ...client, ...place, ...times, canSee, canChange }
  const pager = { nextHref: address('/next'), firstHref: undefined }
  const home = { ...given, language: undefined, languages: ['en', 'de'] }
  const siteHrefs = { connectHref: address('/connect'), adminHref: address('/admin') }
  const subscription = { id: words, topic: 'replies', channel: 'email', enabledAt: null }
  const subscriptions = [subscription, { ...subscription, topic: words }]
  const removal = { id: 'remove-app-page', hidden: { client: words }, cancelHref: address('/apps') }
  return {
    account: accountHomePage({ ...home, sites: sites.map((site) => ({ ...site, ...siteHrefs })) }),
    'account-empty': accountHomePage({ ...home, sites: [] }),
    apps: connectedAppsPage({ ...given, apps: [app], pager }),
    'apps-none': connectedAppsPage({
      ...given,
      apps: [],
      pager: { ...pager, nextHref: undefined },
    }),
    'remove-app': confirmPage({ ...removal, title: words, effect: client.name, confirm: words }),
    notifications: notificationsPage({ ...given, sites: [{ name: words, subscriptions }] }),
    'notifications-none': notificationsPage({ ...given, sites: [] }),
  }
}

function factorPages({ person, words, problem, address }: Values) {
  const times = { addedAt: 1.8e12, usedAt: null, backedUpAt: null, clonedAt: null }
  const own = { id: words, name: person.name, ...times }
  const copied = { ...own, usedAt: 1.8e12, backedUpAt: 1.8e12, clonedAt: 1.8e12 }
  const demand = { areas: [words] }
  const rule = { areas: ['members', words], action: address('/rule'), demand }
  return {
    identities: identitiesPage({
      ...{ problem, hrefs },
      identities: [null, words].map((siteName) => ({
        ...{ providerId: words, providerName: words, issuer: words, subject: words },
        ...{ siteName, linkedAt: 1, usedAt: 1 },
      })),
    }),
    'new-authenticator': newAuthenticatorPage({
      ...{ hrefs, sealed: words, secret: words, uri: address('otpauth://totp/a') },
      ...{ image: onePixel, problem },
    }),
    'recovery-codes': recoveryCodesPage({ codes: [words], nextHref: address('/next') }),
    passkeys: passkeysPage({ hrefs, passkeys: [own, copied], areAvailable: true }),
    'passkeys-none': passkeysPage({ hrefs, passkeys: [], areAvailable: false }),
    'second-factor': secondFactorPage({ hrefs, app: { since: 1.8e12, codesLeft: 9 } }),
    'second-factor-none': secondFactorPage({ hrefs, app: undefined }),
    'two-factors': twoFactorsPage({ ...rule, isAll: false, hasReset: true }),
  }
}

function webhookPages({ words, problem, address }: Values) {
  const types = ['course.published', 'enrolment.created']
  const page = { types, problem, action: address('/hooks'), listHref: address('/hooks') }
  const typed = { url: address('https://hooks.example/'), types: types.slice(1) }
  const times = { createdAt: 1.8e12, disabledAt: null, previousUntil: 1.9e12 }
  const endpoint = { ...typed, ...times, disabledReason: null, secret: words, publicKey: words }
  const sent = { id: words, eventId: words, type: 'course.published', attemptedAt: 1.8e12 }
  const accepted = { ...sent, durationMs: 9, status: 204, error: null, request: words }
  const failed = { ...accepted, status: null, error: problem, request: undefined }
  const deliveries = [accepted, failed].map((delivery) => ({ ...delivery, response: words }))
  const one = { ...page, endpoint, deliveries, nowMs: 1.8e12 }
  const disabled = { ...endpoint, disabledAt: 1.8e12, disabledReason: problem }
  const endpoints = [endpoint, disabled].map((each) => ({ ...each, href: address('/hooks/1') }))
  return {
    webhooks: webhooksPage({ ...page, typed, endpoints }),
    'webhooks-none': webhooksPage({ ...page, problem: undefined, endpoints: [] }),
    webhook: webhookPage(one),
    'webhook-again': webhookPage({ ...one, typed }),
    'webhook-disabled': webhookPage({ ...one, endpoint: disabled, deliveries: [] }),
  }
}

function appearancePages({ sites, words, address, problem }: Values) {
  const name = sites[0]?.name ?? ''
  const colors = { accentColor: words, backgroundColor: words }
  const page = {
    ...{ siteName: name, logoHref: onePixel, previewAction: address('/look') },
    fields: { displayName: name, signInWords: words, consentWords: words, ...colors },
    ...{ hrefOf: () => address('/appearance'), language: undefined },
    choice: { action: address('/languages'), chosen: ['de'], standard: 'de' },
    problem: undefined,
  }
  const local = { ...page, language: 'de', problem: { field: 'signInWords', text: problem } }
  return { appearance: appearancePage(page), 'appearance-local': appearancePage(local) }
}

/** The pages of people who are not signed in: sign-up, invitation, recovery, deletion. */
function signedOutPages(values: Values) {
  const { client, person, sites, problem, address } = values
  const given = { ...givenOf(values), name: person.name, roles: sites[0]?.roles ?? [] }
  const asked = { ...given, login: person.email, from: 'a-uid' }
  const problems = { name: problem, code: problem, password: problem, repeated: problem }
  const sent = { ...asked, code: 'BCDF-2345', minutes: 20, againHref: '/recover' }
  const end = { site: given.siteName, a: inLink('/connect') }
  const deletion = { ...given, days: 7, problem: undefined, owned: [] }
  const scheduled = { time: timeOf(1.8e12) }
  return {
    'sign-up': signUpPage(asked, given.siteName),
    'sign-up-again': signUpPage({ ...asked, from: undefined, problem }, given.siteName),
    'new-account': newAccountPage(given),
    'new-account-again': newAccountPage({ ...given, needsCode: true, problems }),
    join: joinPage(given),
    'other-account': otherAccountPage({ ...given, signedInAs: client.name }),
    joined: notePage('joined', '/account', end),
    declined: notePage('declined', '/account', end),
    recover: recoverPage(asked),
    'recover-again': recoverPage({ ...asked, problem }),
    'recovery-sent': linkSentPage({ ...sent, isCertain: false, isDelayed: false }),
    'recovery-delayed': linkSentPage({ ...sent, isCertain: true, isDelayed: true }),
    'new-password': newPasswordPage({ ...given, endApps: true }),
    'new-password-again': newPasswordPage({ ...given, problems, needsCode: true, endApps: false }),
    'factor-reset': factorResetPage({ ...given, problem: undefined }),
    'factor-reset-again': factorResetPage({ ...given, problem, needsCode: true }),
    'factor-reset-done': notePage('factor-reset-done', address('/interaction')),
    'password-set': notePage('password-set', address('/interaction')),
    'link-gone': notePage('link-gone', address('/recover')),
    deletion: deletionPage(deletion),
    'deletion-again': deletionPage({ ...deletion, needsCode: true, problem }),
    'deletion-of-owner': deletionPage({ ...deletion, owned: sites.map(({ name }) => name) }),
    'deletion-scheduled': notePage('deletion-scheduled', address('/account'), scheduled),
  }
}

function uploadPages(values: Values) {
  const page = {
    ...{ ...givenOf(values), appName: values.client.name, look: undefined },
    ...{ extensions: ['.png', '.jpg', '.pdf'], bytesMax: 2e7 },
  }
  return {
    upload: uploadPage(page),
    'upload-again': uploadPage({ ...page, problem: 'type' }),
    uploaded: uploadPage({ ...page, file: { id: 'fil_1', name: 'workbook.pdf' } }),
  }
}
