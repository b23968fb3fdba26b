import { type AreaPage, cards, type Hrefs } from './area.ts'
import { avatar } from './avatar.ts'
import { postForm, submitButton } from './forms.ts'
import { type Html, type HtmlValue, html, localized } from './html.ts'
import { icon } from './icon.ts'
import { type PersonView, rolesPhrase } from './person-view.ts'
import { languageName, text, timeZones } from './text.ts'

export interface AccountHomePage {
  readonly person: PersonView
  readonly sites: readonly AccountSite[]
  readonly hrefs: Hrefs<'language' | 'memberQueries'>
  /** The language that the person chose; undefined if the browser decides. */
  readonly language: string | undefined
  readonly languages: readonly string[]
}

export interface AccountSite {
  readonly name: HtmlValue
  readonly roles: readonly string[]
  /** The start page of the administration; undefined unless the person is an owner or admin of the site. */
  readonly adminHref: string | undefined
  readonly connectHref: string
}

/** Shows the person's account and sites. */
export function accountHomePage(page: AccountHomePage): AreaPage {
  const { person, sites, hrefs } = page
  const zoneOption = (zone: string) =>
    html`<option${localized(({ timeZone }) => zone === timeZone && html` selected`)}>${zone}</option>`
  const languageOption = (language: string) =>
    html`<option value="${language}" lang="${language}"${language === page.language && html` selected`}>${languageName(language)}</option>`
  return {
    title: text('account.title'),
    id: 'account-page',
    body: html`<div class="named">${avatar(person.name)}<span><strong><bdi>${person.name}</bdi></strong><br>
<span class="muted"><bdi>${person.email}</bdi></span></span></div>
<h2>${text('account.sites')}</h2>
${cards(sites.map(site), html`<p>${text('account.noSite')}</p>`)}
${sites.length > 0 && html`<p>${buttonLink(hrefs.memberQueries, icon('terminal'), text('account.queries'))}</p>`}
<h2 id="language-and-zone">${text('account.languageAndZone')}</h2>
${postForm(
  { action: hrefs.language, attributes: html` class="filter"` },
  html`<div><label for="language">${text('account.language')}</label>
<select id="language" name="language"><option value="">${text('account.browserLanguage')}</option>
${page.languages.map(languageOption)}</select></div>
<div><label for="zone">${text('account.zone')}</label>
<select id="zone" name="zone">${timeZones().map(zoneOption)}</select></div>
${submitButton('save-language', text('word.save'), { kind: 'second' })}`,
)}`,
  }
}

function site({ name, roles, adminHref, connectHref }: AccountSite): Html {
  const named = html`<span class="hidden"> <bdi>${name}</bdi></span>`
  return html`<div class="named">${avatar(name)}<span><strong><bdi>${name}</bdi></strong><br>
<span class="muted">${rolesPhrase(roles)}</span></span></div>
<div class="actions">${buttonLink(connectHref, icon('bot'), html`${text('account.connect')}${named}`)}
${adminHref !== undefined && buttonLink(adminHref, icon('house'), html`${text('account.administer')}${named}`)}</div>`
}

function buttonLink(href: string, symbol: Html | undefined, label: HtmlValue): Html {
  return html`<a class="button second" href="${href}">${symbol}<span>${label}</span></a>`
}
