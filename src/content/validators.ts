/** What a client says that it has already. */
export interface KnownReference {
  /** The header `x-service-ref`. */
  readonly serviceRef: string | undefined
  /** The header `If-None-Match`. */
  readonly ifNoneMatch: string | undefined
}

/**
 * The `ETag` of an answer. Weak, since the same rows may come compressed or not; of its own for each form, since a cache
 * must not take JSON for CSV.
 */
export const etagOf = (reference: string, form: string): string =>
  `W/"${reference}${form === 'json' ? '' : `.${form}`}"`

/**
 * Whether what the client has is what the stage has now. An empty `x-service-ref` counts as none; one that says
 * something decides alone.
 *
 * @param form as in `etagOf`.
 * @see RFC 9110, section 13.1.2, for `If-None-Match`: a list, compared weakly, or `*`
 */
export function isCurrent({ serviceRef, ifNoneMatch }: KnownReference, reference: string, form: string): boolean {
  const known = serviceRef?.trim()
  if (known) return known.toLowerCase() === reference
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  const opaque = etagOf(reference, form).slice(2)
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === opaque)
}
