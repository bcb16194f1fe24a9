const USUAL_PORT = 5432
const MAX_LENGTH = 63

/** What a server is called where nobody says: a slug of its host, and of its port where that is not the usual one. */
export function serverSlug({ host, port }: { readonly host: string; readonly port: number }): string {
  const text = `${host}${port === USUAL_PORT ? '' : `-${port}`}`.toLowerCase().replace(/[^a-z0-9_]+/g, '-')
  const slug = /^[a-z]/.test(text) ? text : `server-${text.replace(/^-+/, '')}`
  return slug.slice(0, MAX_LENGTH).replace(/-+$/, '')
}
