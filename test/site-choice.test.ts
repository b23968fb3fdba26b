import fc from 'fast-check'

import { decideSite, type SiteQuestion } from '../src/directory/sites/site-choice.ts'
import type { SiteRole } from '../src/platform/store/schema.ts'

const site = (id: string, ...roles: SiteRole[]) => ({ id, slug: id, name: `The ${id}`, roles })
const school = site('school', 'owner')
const kitchen = site('kitchen', 'admin', 'student')
const library = site('library', 'lecturer')
const garden = site('garden', 'student')

const plain: SiteQuestion = {
  clientSiteId: undefined,
  operator: false,
  held: [school, kitchen, library, garden],
  admits: () => true,
  chosenSiteId: undefined,
  rememberedSiteId: undefined,
}

/** Returns the kind of a decision and the ids of its sites. */
function outcomeOf(changes: Partial<SiteQuestion>): string {
  const decision = decideSite({ ...plain, ...changes })
  const site = decision.kind === 'bound' ? [decision.site] : []
  const sites = decision.kind === 'choose' ? decision.sites : site
  return [decision.kind, ...sites.map(({ id }) => id)].join(' ')
}

const operator = { operator: true }
const ofGarden = { clientSiteId: 'garden' }
const ofKitchen = { clientSiteId: 'kitchen' }
const ofLibrary = { clientSiteId: 'library' }
const chosen = { chosenSiteId: 'kitchen', rememberedSiteId: 'school' }
const cases: readonly (readonly [expected: string, title: string, Partial<SiteQuestion>])[] = [
  ['refused', 'a client of a site and a person without a role', { ...ofGarden, held: [] }],
  ['refused', 'a client of a site and an owner of another', { ...ofGarden, held: [school] }],
  ['bound school', 'a client of a site and its owner', { clientSiteId: 'school', held: [school] }],
  ['bound kitchen', 'a client of a site and its admin', { ...ofKitchen, held: [kitchen] }],
  ['bound library', 'a client of a site and its lecturer', { ...ofLibrary, held: [library] }],
  ['bound garden', 'a client of a site and its student', { ...ofGarden, held: [garden] }],
  ['bound garden', 'a client of a site, and a choice', { ...operator, ...chosen, ...ofGarden }],
  ['none', 'a plain sign-in', {}],
  ['none', 'a plain sign-in of a person without a role', { held: [] }],
  ['refused', 'operator scopes and a person without a role', { ...operator, held: [] }],
  ['refused', 'operator scopes and a student', { ...operator, held: [garden] }],
  ['refused', 'operator scopes and a lecturer', { ...operator, held: [library, garden] }],
  ['bound school', 'an owner of one site', { ...operator, held: [garden, school, library] }],
  ['bound kitchen', 'an admin of one site', { ...operator, held: [garden, kitchen, library] }],
  ['choose school kitchen', 'an operator of several sites', operator],
  ['bound kitchen', 'a choice for the request and one for the session', { ...operator, ...chosen }],
  ['bound school', 'a choice for the session', { ...operator, rememberedSiteId: 'school' }],
  ...['garden', 'library', 'elsewhere', ''].flatMap((id) =>
    (['chosenSiteId', 'rememberedSiteId'] as const).map((name) => {
      const title = `${name} "${id}", where the person is no operator`
      return ['choose school kitchen', title, { ...operator, [name]: id }] as const
    }),
  ),
]

// [What the service does 12]
describe('site choice (design 15, 16) [What the service does 4]', () => {
  for (const [expected, title, question] of cases)
    it(`for ${title} is: ${expected}`, () => expect(outcomeOf(question)).to.equal(expected))

  it('never binds a person to a site without the required role', () => {
    const id = fc.constantFrom('school', 'kitchen', 'library', 'garden', 'elsewhere')
    const maybe = fc.option(id, { nil: undefined })
    const held = fc.subarray([school, kitchen, library, garden])
    const question = fc.record({
      ...{ clientSiteId: maybe, chosenSiteId: maybe, rememberedSiteId: maybe },
      ...{ operator: fc.boolean(), held, admits: fc.constant(() => true) },
    })
    fc.assert(
      fc.property(question, (asked) => {
        const decision = decideSite(asked)
        if (decision.kind !== 'bound') return
        const { id, roles } = decision.site
        expect(asked.held).to.include(decision.site)
        if (asked.clientSiteId !== undefined) expect(id).to.equal(asked.clientSiteId)
        else expect(roles.includes('owner') || roles.includes('admin')).to.equal(true)
      }),
      { numRuns: 2000 },
    )
  })
})
