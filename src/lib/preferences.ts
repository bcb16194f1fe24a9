/**
 * Splits the header `Prefer`. Parameters of a preference are taken for preferences of their own, as no preference that
 * Wharf knows has any.
 *
 * @param header the values of all headers of that name, with commas between them.
 * @returns values by name, in lower case and without quotes; empty where there is none. The first of a name counts.
 * @see RFC 7240, section 2
 */
export function splitPreferences(header: string | undefined): ReadonlyMap<string, string> {
  const given = new Map<string, string>()
  for (const preference of (header ?? '').split(/[,;]/)) {
    const [name = '', value = ''] = preference.split('=').map((part) => part.trim().toLowerCase())
    if (name !== '' && !given.has(name)) given.set(name, value.replaceAll('"', ''))
  }
  return given
}
