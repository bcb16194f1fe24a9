/**
 * Splits the header `Prefer`. Parameters of a preference are taken for preferences of their own, as no preference that
 * Wharf knows has any.
 *
 * @param header the values of all headers of that name, with commas between them.
 * @returns values by name, without quotes; empty where there is none. Names are in lower case. The first of a name counts.
 * @see RFC 7240, section 2
 */
export function splitPreferences(header: string | undefined): ReadonlyMap<string, string> {
  const given = new Map<string, string>()
  for (const preference of (header ?? '').split(/[,;]/)) {
    const [name = '', value = ''] = preference.split('=').map((part) => part.trim())
    const known = name.toLowerCase()
    if (known !== '' && !given.has(known)) given.set(known, value.replaceAll('"', ''))
  }
  return given
}
