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

/** The values on pages that come from people and clients. */
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
const kinds = [
  ...(['vendor', 'operator-created', 'self-declared', 'reviewed', 'loopback'] as const),
  ...(['vendor-connection', 'vendor-on-device', 'acts-for-owner'] as const),
]

const formOf = ({ address, csrf }: Values) => ({
  ...{ action: address('/answer'), deny: address('/deny'), csrf },
})

const consentOf = (values: Values) => {
  const { person, canSee, canChange, address, sites } = values
  return {
    ...{ ...formOf(values), person, canSee, canChange },
    ...{ signOutHref: address('/out'), site: sites[0] },
  }
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
  const { client, person, sites, words, problem, address, canSee } = values
  const form = formOf(values)
  const signIn = { ...form, recoverHref: address('/recover'), client }
  const provider = { id: 'acme', name: words, href: address('/provider') }
  const again = { login: person.email, problem, factorsHref: address('/factors') }
  const rest = [...'abcde'].map((end) => scopeText(`${end} of the school`))
  const siteWords = { siteName: sites[0]?.name ?? '', text: words }
  const choice = { ...form, client, person, sites }
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
      look: { name: siteWords.siteName, logoHref: onePixel, colorsHref: hrefOf(stylesheet) },
    },
    'second-step': secondStepPage({
      ...{ ...form, client, problem, hasApp: true, options: undefined, reset: undefined },
    }),
    'second-step-with-reset': secondStepPage({
      ...{ ...form, client, hasApp: true, options: undefined },
      reset: { action: address('/reset'), notBefore: false },
    }),
    ...inAreas(values),
    'appearance-preview': lookPreviewPage({
      ...{ look: undefined, siteName: siteWords.siteName, words, language: undefined },
    }),
    'site-choice': siteChoicePage(choice),
    'site-choice-again': siteChoicePage({ ...choice, problem }),
    ...Object.fromEntries(kinds.map((kind) => [`consent-${kind}`, consentOfKind(kind)])),
    'consent-of-more': consentPage({
      ...{ ...consentOf(values), client, added: new Set(canSee.map(({ name }) => name)) },
      canSee: [...canSee, ...rest],
    }),
    ...recoveryPages(values),
    ...deletionPages(values),
    ...uploadPages(values),
    ...joiningPages(values),
    error: errorPage({
      ...{ code: words, description: problem, errorId: words },
      ...{ connectHref: address('/connect'), sentAddress: address('http://portal.example/') },
    }),
    'error-forbidden': errorPage({
      ...{ code: 'forbidden', description: problem, isOwn: true, switchHref: address('/switch') },
    }),
    'error-of-app': errorPage({
      ...{ code: 'invalid_scope', description: problem, connectHref: address('/connect') },
      ...{ accountHref: '/account', app: { name: words, href: address('https://app.example') } },
    }),
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
  const { client, person, sites, canSee, canChange, words, address } = values
  const grant = { canSee, canChange, grantedAt: 1.8e12, lastUsedAt: undefined, calls: 3 }
  const place = { assistant: null, siteName: words, removeHref: address('/remove') }
  const app = { ...grant, ...client, ...place }
  const list = { connectHref: address('/connect') }
  const pager = { nextHref: address('/next'), firstHref: undefined }
  const home = { hrefs, person, language: undefined, languages: ['en', 'de'] }
  const siteHrefs = { connectHref: address('/connect'), adminHref: address('/admin') }
  const subscription = { id: words, topic: 'replies', channel: 'email', enabledAt: null }
  const inbox = { action: address('/notifications') }
  const removal = { id: 'remove-app-page', hidden: { client: words }, cancelHref: address('/apps') }
  return {
    account: accountHomePage({ ...home, sites: sites.map((site) => ({ ...site, ...siteHrefs })) }),
    'account-empty': accountHomePage({ ...home, sites: [] }),
    apps: connectedAppsPage({ ...list, apps: [app], pager }),
    'apps-none': connectedAppsPage({ ...list, apps: [], pager: { ...pager, nextHref: undefined } }),
    'remove-app': confirmPage({ ...removal, title: words, effect: client.name, confirm: words }),
    notifications: notificationsPage({
      ...inbox,
      sites: [{ name: words, subscriptions: [subscription, { ...subscription, topic: words }] }],
    }),
    'notifications-none': notificationsPage({ ...inbox, sites: [] }),
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
  const hrefs = { action: address('/hooks/1'), listHref: address('/hooks') }
  const list = { action: hrefs.listHref }
  const types = ['course.published', 'enrolment.created']
  const page = { types, problem }
  const typed = { url: address('https://hooks.example/'), types: types.slice(1) }
  const times = { createdAt: 1.8e12, disabledAt: null, previousUntil: 1.9e12 }
  const endpoint = { ...typed, ...times, disabledReason: null, secret: words, publicKey: words }
  const sent = { id: words, eventId: words, type: 'course.published', attemptedAt: 1.8e12 }
  const accepted = { ...sent, durationMs: 9, status: 204, error: null, request: words }
  const failed = { ...accepted, status: null, error: problem, request: undefined }
  const deliveries = [accepted, failed].map((delivery) => ({ ...delivery, response: words }))
  const one = { ...page, ...hrefs, endpoint, deliveries, nowMs: 1.8e12 }
  const disabled = { ...endpoint, disabledAt: 1.8e12, disabledReason: problem }
  return {
    webhooks: webhooksPage({
      ...{ ...page, ...list, typed },
      endpoints: [endpoint, disabled].map((each) => ({ ...each, href: address('/hooks/1') })),
    }),
    'webhooks-none': webhooksPage({ types, problem: undefined, ...list, endpoints: [] }),
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

function joiningPages({ client, person, sites, csrf, problem, address }: Values) {
  const view = { siteName: sites[0]?.name ?? '', action: address('/sign-up'), csrf }
  const link = { ...view, email: person.email, roles: sites[0]?.roles ?? [] }
  const account = { ...link, name: person.name, charactersMin: 15, needsCode: true }
  const problems = { name: problem, code: problem, password: problem, repeated: problem }
  const again = { from: undefined, login: person.email, problem }
  const end = { site: view.siteName, a: inLink('/connect') }
  return {
    'sign-up': signUpPage({ ...view, from: 'a-uid', login: person.email }, view.siteName),
    'sign-up-again': signUpPage({ ...view, ...again }, view.siteName),
    'new-account': newAccountPage({ ...account, needsCode: false }),
    'new-account-again': newAccountPage({ ...account, problems }),
    join: joinPage(link),
    'other-account': otherAccountPage({ ...link, signedInAs: client.name }),
    joined: notePage('joined', '/account', end),
    declined: notePage('declined', '/account', end),
  }
}

function recoveryPages({ person: { email }, csrf, problem, address }: Values) {
  const ask = { action: address('/recover'), csrf, from: 'a-uid', login: email }
  const sent = { login: email, code: 'BCDF-2345', minutes: 20, againHref: '/recover' }
  const set = { action: address('/recover'), csrf, email, charactersMin: 15 }
  const wrong = { problems: { password: problem, repeated: problem, code: problem } }
  return {
    recover: recoverPage(ask),
    'recover-again': recoverPage({ ...ask, problem }),
    'recovery-sent': linkSentPage({ ...sent, isCertain: false, isDelayed: false }),
    'recovery-delayed': linkSentPage({ ...sent, isCertain: true, isDelayed: true }),
    'new-password': newPasswordPage({ ...set, needsCode: false, endApps: true }),
    'new-password-again': newPasswordPage({ ...set, ...wrong, needsCode: true, endApps: false }),
    'factor-reset': factorResetPage({ ...set, problem: undefined, needsCode: false }),
    'factor-reset-again': factorResetPage({ ...set, problem, needsCode: true }),
    'factor-reset-done': notePage('factor-reset-done', address('/interaction')),
    'password-set': notePage('password-set', address('/interaction')),
    'link-gone': notePage('link-gone', address('/recover')),
  }
}

function uploadPages({ client: { name }, sites, address }: Values) {
  const extensions = ['.png', '.jpg', '.pdf']
  const siteName = sites[0]?.name ?? ''
  const page = { action: address('/upload'), appName: name, siteName, extensions, bytesMax: 2e7 }
  return {
    upload: uploadPage({ ...page, look: undefined }),
    'upload-again': uploadPage({ ...page, look: undefined, problem: 'type' }),
    uploaded: uploadPage({ ...page, look: undefined, file: { id: 'fil_1', name: 'workbook.pdf' } }),
  }
}

function deletionPages({ person: { email }, sites, csrf, problem, address }: Values) {
  const first = { needsCode: false, problem: undefined, owned: [] }
  const scheduled = { time: timeOf(1.8e12) }
  const page = { action: address('/account/deletion'), csrf, email, days: 7, ...first }
  return {
    deletion: deletionPage(page),
    'deletion-again': deletionPage({ ...page, needsCode: true, problem }),
    'deletion-of-owner': deletionPage({ ...page, owned: sites.map(({ name }) => name) }),
    'deletion-scheduled': notePage('deletion-scheduled', address('/account'), scheduled),
  }
}
