import { deletionPage, deletionScheduledPage } from '../../views/account-data.ts'
import type { ClientView } from '../../views/client-view.ts'
import { consentPage } from '../../views/consent.ts'
import { errorPage } from '../../views/error.ts'
import { trusted } from '../../views/html.ts'
import { joinedPage, joinPage, newAccountPage, otherAccountPage } from '../../views/joining.ts'
import { layout, type Page as View } from '../../views/layout.ts'
import { mailFolderPage } from '../../views/mail-folder.ts'
import { memberApiPage } from '../../views/member-api.ts'
import {
  linkGonePage,
  linkSentPage,
  newPasswordPage,
  passwordSetPage,
  recoverPage,
  signUpPage,
} from '../../views/recover.ts'
import { signInPage } from '../../views/sign-in.ts'
import { signedOutPage, signOutPage } from '../../views/sign-out.ts'
import { siteChoicePage } from '../../views/site-choice.ts'
import { welcomePage } from '../../views/welcome.ts'
import { png } from './files.ts'

export const policy =
  "default-src 'none'; style-src 'self'; img-src 'self' https: data:; base-uri 'none'; " +
  "frame-ancestors 'none'"

export const client: ClientView = {
  name: 'Course Companion',
  kind: 'vendor',
  host: 'app.companion.example',
}
export const person = { name: 'Ada Lindqvist', email: 'ada@harbour.example' }
export const canSee = ['your name, picture and your roles at the site', 'your e-mail address']
export const canChange = ['which notifications are read and which you receive']
const engineForm = trusted(
  '<form id="op.logoutForm" method="post" action="/out"><input type="hidden" name="xsrf" value="x"/></form>',
)

const onePixel = `data:image/png;base64,${png.toString('base64')}`

export const hrefOf = ({ file }: { readonly file: string }) => `/assets/${file}`

export function markupOf(page: View | undefined): string {
  if (!page) return ''
  const stylesheetHref = hrefOf(page.stylesheet)
  return layout(page, { serviceName: 'Gatehouse', stylesheetHref }).toString()
}

/** Every page, with `text` as every value of others. */
export function pagesWith(text: string): Record<string, View> {
  const stranger: ClientView = { ...client, name: text, host: text, siteName: text }
  const somebody = { name: text, email: text }
  const form = { action: `/answer?${text}`, deny: `/deny?${text}`, csrf: text }
  const site = { name: text, roles: [text, 'admin'] }
  const links = [{ href: `/docs?${text}`, label: text, what: text }]
  return {
    'sign-in': signInPage({
      ...form,
      recoverHref: `/recover?${text}`,
      client: stranger,
      login: text,
    }),
    'sign-in-again': signInPage({
      ...form,
      recoverHref: `/recover?${text}`,
      client: stranger,
      login: text,
      problem: text,
    }),
    'sign-in-of-site': {
      ...signInPage({
        ...form,
        recoverHref: `/recover?${text}`,
        client: stranger,
        words: { siteName: text, text },
      }),
      look: { name: text, logoHref: onePixel, colorsHref: undefined },
    },
    'site-choice': siteChoicePage({
      ...{ ...form, client: stranger, person: somebody, sites: [{ id: text, ...site }] },
      ...{ selected: text, problem: text },
    }),
    ...Object.fromEntries(
      kinds.map((kind) => [
        `consent-${kind}`,
        consentPage({
          ...{ ...form, client: { ...stranger, kind }, person: somebody, site, canSee: [text] },
          ...{ canChange: [text], signOutHref: `/out?${text}`, words: { siteName: text, text } },
        }),
      ]),
    ),
    ...recoveryPages(text),
    ...deletionPages(text),
    ...joiningPages(text),
    error: errorPage({ code: text, description: text, errorId: text, title: text }),
    'member-api': memberApiPage({ endpoint: text, readScope: text, writeScope: text, links }),
    'sign-out': signOutPage({ form: engineForm, client: stranger }),
    'signed-out': signedOutPage({ client: stranger, homeHref: `/?${text}` }),
    mail: mailFolderPage({
      folder: text,
      messages: [{ subject: text, to: text, date: text, href: `/mail/${text}` }],
    }),
    welcome: welcomePage({
      ...{ accountHref: '/account', connectHref: '/connect', baseUrl: text, links },
      mailHref: '/mail',
      demoPeople: [{ login: text, password: text, what: text }],
    }),
  }
}

/** The pages on which people join a site, in every state, with `text` as every value of others. */
function joiningPages(text: string): Record<string, View> {
  const view = { siteName: text, action: `/sign-up/${text}`, csrf: text, look: undefined }
  const link = { ...view, email: text, roles: [text, 'student'] }
  const account = { ...link, name: text, charactersMin: 15, needsCode: true }
  const problems = { name: text, code: text, password: text, repeated: text }
  const end = { siteName: text, look: undefined, continueHref: '/account', connectHref: '/connect' }
  return {
    'sign-up': signUpPage({ ...view, from: 'a-uid', login: text }, text),
    'sign-up-again': signUpPage({ ...view, from: undefined, login: text, problem: text }, text),
    'new-account': newAccountPage({ ...account, needsCode: false }),
    'new-account-again': newAccountPage({ ...account, problems }),
    join: joinPage(link),
    'other-account': otherAccountPage({ ...link, signedInAs: text }),
    joined: joinedPage({ ...end, isDeclined: false }),
    declined: joinedPage({ ...end, isDeclined: true }),
  }
}

/** The pages of a password recovery, in every state, with `text` as every value of others. */
function recoveryPages(text: string): Record<string, View> {
  const ask = { action: `/recover?${text}`, csrf: text, from: 'a-uid', login: text }
  const sent = {
    login: text,
    code: 'BCDF-2345',
    minutes: 20,
    againHref: '/recover',
    isCertain: false,
  }
  const set = { action: `/recover/${text}`, csrf: text, email: text, charactersMin: 15 }
  const wrong = { password: text, repeated: text }
  return {
    recover: recoverPage(ask),
    'recover-again': recoverPage({ ...ask, problem: text }),
    'recovery-sent': linkSentPage({ ...sent, isDelayed: false }),
    'recovery-delayed': linkSentPage({ ...sent, isCertain: true, isDelayed: true }),
    'new-password': newPasswordPage({ ...set, needsCode: false, endApps: true }),
    'new-password-again': newPasswordPage({
      ...{ ...set, needsCode: true, endApps: false, problems: { ...wrong, code: text } },
    }),
    'password-set': passwordSetPage({ continueHref: `/interaction/${text}` }),
    'link-gone': linkGonePage({ againHref: `/recover?${text}` }),
  }
}

/** The pages of the deletion of an account, in every state, with `text` as every value of others. */
function deletionPages(text: string): Record<string, View> {
  const page = { action: `/account/deletion/${text}`, csrf: text, email: text, days: 7 }
  return {
    deletion: deletionPage({ ...page, needsCode: false, problem: undefined, owned: [] }),
    'deletion-again': deletionPage({ ...page, needsCode: true, problem: text, owned: [] }),
    'deletion-of-owner': deletionPage({
      ...{ ...page, needsCode: false, problem: undefined, owned: [text, text] },
    }),
    'deletion-scheduled': deletionScheduledPage({ dueAt: 1.8e12, keepHref: `/account/${text}` }),
  }
}

const kinds = ['vendor', 'operator-created', 'self-declared', 'reviewed', 'loopback'] as const

const form = { action: '/answer', deny: '/deny', csrf: 'a-secret' }
const sites = [
  { id: 'sit_1', name: 'Harbour School', roles: ['owner', 'lecturer'] },
  { id: 'sit_2', name: 'Night College', roles: ['admin'] },
]
export const consent = {
  ...{ ...form, person, canSee, canChange, signOutHref: '/out' },
  site: { name: 'Harbour School', roles: ['student'] },
}
const device = 'an app on this device (cursor)'
const consentClients: Record<string, Partial<ClientView>> = {
  vendor: {},
  'operator-created': { kind: 'operator-created', siteName: 'Harbour School' },
  'self-declared': { kind: 'self-declared' },
  loopback: { name: 'Terminal Helper', kind: 'loopback', host: 'this computer (127.0.0.1)' },
  'vendor-connection': { name: 'ChatGPT', kind: 'vendor-connection', host: 'chatgpt.com' },
  'vendor-on-device': { name: 'Cursor', kind: 'vendor-on-device', host: device },
}
export const pages: Record<string, View> = {
  ...recoveryPages('ada@harbour.example'),
  ...deletionPages('ada@harbour.example'),
  ...joiningPages('Harbour School'),
  'sign-in': signInPage({ ...form, recoverHref: '/recover', client }),
  'sign-in-again': signInPage({
    ...{ ...form, recoverHref: '/recover', client, login: 'ada@harbour.example' },
    problem: 'This e-mail address and this password do not belong together.',
  }),
  'sign-in-of-site': {
    ...signInPage({
      ...form,
      recoverHref: '/recover',
      client,
      signUpHref: '/sign-up/harbour',
      words: { siteName: 'Harbour School', text: 'Hi.\nHello.' },
    }),
    look: { name: 'Harbour School', logoHref: onePixel, colorsHref: undefined },
  },
  'site-choice': siteChoicePage({ ...form, client, person, sites }),
  'site-choice-again': siteChoicePage({
    ...{ ...form, client, person, sites, selected: 'sit_2' },
    problem: 'Choose one of your sites.',
  }),
  ...Object.fromEntries(
    Object.entries(consentClients).map(([kind, other]) => [
      `consent-${kind}`,
      consentPage({ ...consent, client: { ...client, ...other } }),
    ]),
  ),
  error: errorPage({
    connectHref: '/connect',
    code: 'invalid_redirect_uri',
    description:
      'The application asked us to send you to an address that is not registered for it.',
    errorId: 'err_9f2c61d0a4',
    sentAddress: 'http://portal.example/callback/?…',
  }),
  'member-api': memberApiPage({
    endpoint: 'https://accounts.example.com/member/graphql',
    readScope: 'account:read',
    writeScope: 'account:write',
    links: [{ href: '/auth.md', label: 'auth.md', what: 'how to get an access token' }],
  }),
  'sign-out': signOutPage({ form: engineForm, client }),
  'sign-out-of-nobody': signOutPage({ form: engineForm, addressIgnored: true }),
  'signed-out': signedOutPage({ client, homeHref: '/' }),
  mail: mailFolderPage({
    folder: 'data/mail',
    messages: [
      {
        subject: 'New sign-in to Gatehouse',
        to: person.email,
        date: 'Mon, 23 Nov 2026 13:55:31 +0000',
        href: '/mail/1',
      },
    ],
  }),
  'mail-empty': mailFolderPage({ folder: 'data/mail', messages: [] }),
  welcome: welcomePage({
    mailHref: '/mail',
    accountHref: '/account',
    connectHref: '/connect',
    baseUrl: 'https://accounts.example.com',
    links: [
      { href: '/auth.md', label: 'How to connect', what: 'the guide for people and programs' },
      { href: '/openapi.json', label: 'The endpoints', what: 'as an OpenAPI document' },
    ],
    demoPeople: [{ login: 'ada@harbour.example', password: 'demo-ada', what: 'Owner of a site' }],
  }),
}
