/** `timestamp(3) with time zone` → `timestamp with time zone` */
export const withoutModifier = (type: string): string => type.replace(/\([^()]*\)/, '')

/** `"My Type"` → `My Type` */
export const unquoted = (type: string): string =>
  type.startsWith('"') ? type.slice(1, -1).replaceAll('""', '"') : type
