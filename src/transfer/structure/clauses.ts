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

/** SQL of a relation's storage parameters, behind them those of its TOAST table: as `storageParameters` takes them; NULL for none. */
export const storageOptionsSql = (own: string, toast: string): string =>
  `CASE WHEN ${own} IS NOT NULL OR ${toast} IS NOT NULL THEN pg_catalog.array_cat(
         COALESCE(${own}, '{}'), ARRAY(SELECT 'toast.' || o FROM pg_catalog.unnest(${toast}) o)) END`

const quoteIfNeeded = (name: string): string => (/^[a-z_]+$/.test(name) ? name : quoteIdentifier(name))

/** The statement that comments on something; none without a comment. @param object e.g. `TABLE "artist"`. */
export const commentOn = (object: string, comment: string | undefined): readonly string[] =>
  comment === undefined ? [] : [`COMMENT ON ${object} IS ${quoteLiteral(comment)}`]

export const collate = ({ collation }: { readonly collation?: string }): string =>
  collation === undefined ? '' : ` COLLATE ${collation}`
