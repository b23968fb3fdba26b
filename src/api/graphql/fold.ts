import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql'

/** A number for some selections; `within` is whatever the fields above have said. */
type Fold = (selections: SelectionSetNode, within: number) => number

interface Counting {
  readonly join: (total: number, part: number) => number
  readonly field: (field: FieldNode, within: number, fold: Fold) => number
}

/** Makes one number of what is selected, fragments followed, each of them once for each `within`. */
export function makeFold(document: DocumentNode, { join, field }: Counting): Fold {
  const fragments = fragmentsOf(document)
  const known = new Map<string, number>()

  const fold: Fold = ({ selections }, within) =>
    selections.reduce((total, selection) => join(total, partOf(selection, within)), 0)

  const partOf = (selection: SelectionNode, within: number): number => {
    switch (selection.kind) {
      case Kind.FIELD:
        return field(selection, within, fold)
      case Kind.INLINE_FRAGMENT:
        return fold(selection.selectionSet, within)
      case Kind.FRAGMENT_SPREAD:
        return partOfFragment(selection.name.value, within)
    }
  }

  const partOfFragment = (name: string, within: number): number => {
    const key = `${within} ${name}`
    const before = known.get(key)
    if (before !== undefined) return before
    // A fragment that spreads itself ends here; validation refuses it a moment later.
    known.set(key, 0)
    const fragment = fragments.get(name)
    const part = fragment ? fold(fragment.selectionSet, within) : 0
    known.set(key, part)
    return part
  }

  return fold
}

function fragmentsOf(document: DocumentNode): Map<string, FragmentDefinitionNode> {
  return new Map(
    document.definitions.flatMap((definition) =>
      definition.kind === Kind.FRAGMENT_DEFINITION ? [[definition.name.value, definition]] : [],
    ),
  )
}
