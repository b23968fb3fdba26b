import { expect } from 'chai'
import {
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isNonNullType,
  isObjectType,
  isSpecifiedScalarType,
} from 'graphql'

import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../../src/api/graphql/schema-text.ts'

/** Returns the types, output fields and input fields that a schema defines. Each field has `at`, such as `Course.id`. */
export function partsOf(schema: GraphQLSchema) {
  const ownTypes: GraphQLNamedType[] = Object.values(schema.getTypeMap()).filter(
    (type) => !type.name.startsWith('__') && !isSpecifiedScalarType(type),
  )
  const fieldsOf = <Field extends { name: string }>(type: {
    readonly name: string
    getFields(): Record<string, Field>
  }) =>
    Object.values(type.getFields()).map((field) => ({ ...field, at: `${type.name}.${field.name}` }))
  const fields = ownTypes.filter(isObjectType).flatMap((type) => fieldsOf(type))
  const inputs = ownTypes.filter(isInputObjectType).flatMap((type) => fieldsOf(type))
  return { ownTypes, fields, inputs }
}

/** Defines the tests that both schemas must pass. Descriptions of nullable fields must match `nullWord`. */
export function schemaSuite(schema: GraphQLSchema, nullWord: RegExp): void {
  const { ownTypes, fields, inputs } = partsOf(schema)

  it('describes every type, field, argument and value', () => {
    const silent = [
      ...ownTypes.filter(({ description }) => !description).map(({ name }) => name),
      ...[...fields, ...inputs].filter(({ description }) => !description).map(({ at }) => at),
      ...fields.flatMap(({ at, args }) =>
        args.filter(({ description }) => !description).map(({ name }) => `${at}(${name})`),
      ),
      ...ownTypes
        .filter(isEnumType)
        .flatMap((type) => type.getValues().filter(({ description }) => !description)),
    ]
    expect(silent).to.deep.equal([])
  })

  it('says when each nullable field is null', () => {
    const unexplained = fields.filter(
      ({ type, description }) => !isNonNullType(type) && !nullWord.test(description ?? ''),
    )
    expect(unexplained.map(({ at }) => at)).to.deep.equal([])
  })

  it('gives every connection first and after, and the four parts of a page [design 21]', () => {
    const connections = fields.filter(({ type }) => /Connection!?$/.test(String(type)))
    expect(connections).to.have.length.at.least(5)
    for (const { at, args, type } of connections) {
      const first = args.find(({ name }) => name === 'first')
      const names = args.map(({ name }) => name)
      expect(first?.defaultValue, at).to.equal(PAGE_SIZE_DEFAULT)
      expect(first?.description, at).to.include(`from 1 to ${PAGE_SIZE_MAX}`)
      expect(names, at).to.include('after')
      const page = getNamedType(type)
      expect(isObjectType(page) && Object.keys(page.getFields()), at).to.have.members([
        ...['nodes', 'edges', 'pageInfo', 'totalCount'],
      ])
    }
  })
}
