import { fillTemplate } from '../src/api/discovery/template.ts'

describe('a template', () => {
  it('puts values where their names stand, and reads nothing in a value', () => {
    expect(fillTemplate('{{a}} and {{b}}', { a: '{{b}}', b: '$& $1' })).to.equal('{{b}} and $& $1')
  })

  it('keeps a section only when its name has a value, or has none', () => {
    const template =
      'one\n{{#more}}\n{{^last}}\ntwo\n{{/last}}\n{{/more}}\n{{last}}{{#more}}!{{/more}}'
    expect(fillTemplate(template, { more: true, last: '' })).to.equal('one\ntwo\n!')
    expect(fillTemplate(template, { more: true, last: 'x' })).to.equal('one\nx!')
    expect(fillTemplate(template, { more: false, last: 'x' })).to.equal('one\nx')
  })

  it('refuses a name without a value and a value without a place', () => {
    expect(() => fillTemplate('{{a}} {{b}}', { a: 'x' })).to.throw('no value for b')
    expect(() => fillTemplate('{{#b}}{{/b}}', {})).to.throw('no value for b')
    expect(() => fillTemplate('{{toString}}', {})).to.throw('no value for toString')
    expect(() => fillTemplate('{{a}}', { a: 'x', b: '' })).to.throw('does not use b')
  })

  it('refuses a section that is not closed, or not opened', () => {
    expect(() => fillTemplate('{{#a}}x', { a: 'x' })).to.throw('{{#a}} is not closed')
    expect(() => fillTemplate('x{{/a}}', { a: 'x' })).to.throw('{{/a}} is not closed')
  })
})
