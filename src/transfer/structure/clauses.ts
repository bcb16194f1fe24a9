import { quoteIdentifier, quoteLiteral } from '../../database/quoting.ts'

/**
 * Storage parameters as `WITH (...)` takes them.
 *
 * @param options each as `name=value`, as the catalogs keep them; `toast.name=value` for the table's TOAST table.
 */
export function storageParameters(options: readonly string[]): string {
  return options
    .map((option) => {
      const [, name = '', value = ''] = /^([^=]*)=(.*)$/s.exec(option) ?? []
      return `${name.split('.').map(quoteIfNeeded).join('.')}=${quoteLiteral(value)}`
    })
    .join(', ')
}

const quoteIfNeeded = (name: string): string => (/^[a-z_]+$/.test(name) ? name : quoteIdentifier(name))

/** The statement that comments on something; none without a comment. @param object e.g. `TABLE "artist"`. */
export const commentOn = (object: string, comment: string | undefined): readonly string[] =>
  comment === undefined ? [] : [`COMMENT ON ${object} IS ${quoteLiteral(comment)}`]

export const collate = ({ collation }: { readonly collation?: string }): string =>
  collation === undefined ? '' : ` COLLATE ${collation}`
