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

describe('site choice for a client of a site (design 15, 16)', () => {
  for (const held of [school, kitchen, library, garden]) {
    it(`is that site for its ${held.roles.join(' and ')} [What the service does 12]`, () => {
      const decision = decideSite({ ...plain, clientSiteId: held.id, held: [held] })
      expect(decision).to.deep.equal({ kind: 'bound', site: held })
    })
  }

  it('is refused for other people', () => {
    for (const held of [[], [school], [school, kitchen, library]])
      expect(decideSite({ ...plain, clientSiteId: 'garden', held }).kind).to.equal('refused')
  })

  it('ignores a chosen and a remembered site', () => {
    const others = { chosenSiteId: 'school', rememberedSiteId: 'kitchen' }
    const decision = decideSite({ ...plain, clientSiteId: 'garden', operator: true, ...others })
    expect(decision).to.deep.equal({ kind: 'bound', site: garden })
  })
})

describe('site choice for operator scopes (design 15) [What the service does 4]', () => {
  const operator = { ...plain, operator: true }

  it('is none for a plain sign-in', () => {
    expect(decideSite(plain)).to.deep.equal({ kind: 'none' })
    expect(decideSite({ ...plain, held: [] })).to.deep.equal({ kind: 'none' })
  })

  it('is refused for students and lecturers', () => {
    for (const held of [[], [garden], [library, garden]])
      expect(decideSite({ ...operator, held }).kind).to.equal('refused')
  })

  it('is the only site that the person owns or administers', () => {
    for (const only of [school, kitchen]) {
      const decision = decideSite({ ...operator, held: [garden, only, library] })
      expect(decision).to.deep.equal({ kind: 'bound', site: only })
    }
  })

  it('is a question between several such sites', () => {
    expect(decideSite(operator)).to.deep.equal({ kind: 'choose', sites: [school, kitchen] })
  })

  it('prefers the choice of the request to that of the session', () => {
    const both = { ...operator, chosenSiteId: 'kitchen', rememberedSiteId: 'school' }
    expect(decideSite(both)).to.deep.equal({ kind: 'bound', site: kitchen })
    const remembered = { ...operator, rememberedSiteId: 'school' }
    expect(decideSite(remembered)).to.deep.equal({ kind: 'bound', site: school })
  })

  it('ignores a chosen or remembered site that the person does not operate', () => {
    for (const id of ['garden', 'library', 'elsewhere', '']) {
      expect(decideSite({ ...operator, chosenSiteId: id }).kind).to.equal('choose')
      expect(decideSite({ ...operator, rememberedSiteId: id }).kind).to.equal('choose')
    }
  })

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
