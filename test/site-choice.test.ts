import { expect } from 'chai'
import fc from 'fast-check'

import { decideSite, type HeldSite, type SiteQuestion } from '../src/directory/sites/site-choice.ts'
import type { SiteRole } from '../src/platform/store/schema.ts'

const site = (id: string, ...roles: SiteRole[]): HeldSite => ({
  id,
  slug: id,
  name: `The ${id}`,
  roles,
})
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

describe('site choice: a client of a site is bound to it (design 15, 16)', () => {
  for (const held of [school, kitchen, library, garden]) {
    // [What the service does 12]
    it(`any role there may authorize it: ${held.roles.join(' and ')}`, () => {
      const decision = decideSite({ ...plain, clientSiteId: held.id, held: [held] })
      expect(decision).to.deep.equal({ kind: 'bound', site: held })
    })
  }

  it('other people may not', () => {
    for (const held of [[], [school], [school, kitchen, library]]) {
      expect(decideSite({ ...plain, clientSiteId: 'garden', held }).kind).to.equal('refused')
    }
  })

  it('neither a choice nor a memory leads to another site', () => {
    const question = { ...plain, clientSiteId: 'garden', operator: true }
    const decision = decideSite({
      ...question,
      chosenSiteId: 'school',
      rememberedSiteId: 'kitchen',
    })
    expect(decision).to.deep.equal({ kind: 'bound', site: garden })
  })
})

// [What the service does 4]
describe('site choice: operator scopes need a site that the person operates (design 15)', () => {
  const operator = { ...plain, operator: true }

  it('a plain sign-in has no site', () => {
    expect(decideSite(plain)).to.deep.equal({ kind: 'none' })
    expect(decideSite({ ...plain, held: [] })).to.deep.equal({ kind: 'none' })
  })

  it('none is access_denied: students and lecturers are no operators', () => {
    for (const held of [[], [garden], [library, garden]]) {
      expect(decideSite({ ...operator, held }).kind).to.equal('refused')
    }
  })

  it('one is no question, for an owner and for an admin', () => {
    for (const only of [school, kitchen]) {
      const decision = decideSite({ ...operator, held: [garden, only, library] })
      expect(decision).to.deep.equal({ kind: 'bound', site: only })
    }
  })

  it('several are a question, among those only', () => {
    expect(decideSite(operator)).to.deep.equal({ kind: 'choose', sites: [school, kitchen] })
  })

  it('the choice of this request counts before what the session remembers', () => {
    const both = { ...operator, chosenSiteId: 'kitchen', rememberedSiteId: 'school' }
    expect(decideSite(both)).to.deep.equal({ kind: 'bound', site: kitchen })
    const remembered = { ...operator, rememberedSiteId: 'school' }
    expect(decideSite(remembered)).to.deep.equal({ kind: 'bound', site: school })
  })

  it('a choice or memory of a site that the person does not operate (any more) is none', () => {
    for (const id of ['garden', 'library', 'elsewhere', '']) {
      expect(decideSite({ ...operator, chosenSiteId: id }).kind).to.equal('choose')
      expect(decideSite({ ...operator, rememberedSiteId: id }).kind).to.equal('choose')
    }
  })

  it('no request binds a person to a site without the required role', () => {
    const id = fc.constantFrom('school', 'kitchen', 'library', 'garden', 'elsewhere')
    const maybe = fc.option(id, { nil: undefined })
    const held = fc.subarray([school, kitchen, library, garden])
    fc.assert(
      fc.property(
        fc.record({
          clientSiteId: maybe,
          operator: fc.boolean(),
          held,
          admits: fc.constant(() => true),
          chosenSiteId: maybe,
          rememberedSiteId: maybe,
        }),
        (question) => {
          const decision = decideSite(question)
          if (decision.kind !== 'bound') return
          expect(question.held).to.include(decision.site)
          if (question.clientSiteId !== undefined) {
            expect(decision.site.id).to.equal(question.clientSiteId)
          } else {
            expect(
              decision.site.roles.some((role) => role === 'owner' || role === 'admin'),
            ).to.equal(true)
          }
        },
      ),
      { numRuns: 2000 },
    )
  })
})
