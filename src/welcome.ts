/** What a service that has an interface says of itself. */
export interface Welcome {
  readonly url: string
  readonly rootToken: string
  /** Where the token is kept; undefined where it is configured. */
  readonly tokenFile: string | undefined
  /** Whether it may be printed: standard output is often kept as a log, which more people read than may have the token. */
  readonly showToken: boolean
  /** Whether there is the demo project, unless somebody has deleted it. */
  readonly hasDemo: boolean
}

/**
 * The same as one line of the log, for standard output that is no terminal: it is often kept together with the log.
 *
 * @param now when it was started.
 */
export function welcomeLine({ url, rootToken, tokenFile, showToken }: Omit<Welcome, 'hasDemo'>, now: Date): string {
  const fields = { url, docs: `${url}/docs`, rootToken: showToken ? rootToken : undefined, rootTokenFile: tokenFile }
  return logLine(fields, `Wharf is at ${url}`, now)
}

const logLine = (fields: object, msg: string, now: Date): string =>
  `${JSON.stringify({ level: 30, time: now.toISOString(), ...fields, msg })}\n`

/** The text for standard output, on a terminal: where the interface is, the root token or where it stands, and what to try next. */
export function welcome({ url, rootToken, tokenFile, showToken, hasDemo }: Welcome): string {
  const { said, inShell } = showToken ? { said: rootToken, inShell: rootToken } : locationOf(tokenFile)
  return `
Wharf is at ${url}  (interface: ${url}/docs)
Root token: ${said}

Three things to try, in another terminal:
${hasDemo ? DEMO : OWN}
  curl -H "Authorization: Bearer ${inShell}" ${url}/me

`
}

/** What a process says that only works on jobs, as one line of the log. @param metricsUrl where it says how it is. */
export const welcomeOfWorker = (metricsUrl: string | undefined, now: Date): string =>
  logLine({ metrics: metricsUrl && `${metricsUrl}/metrics` }, 'Wharf works on jobs', now)

const DEMO = `  npm run wharf project:show demo
  npm run wharf data:export                      # writes demo.jsonl.gz`

const OWN = `  npm run wharf project:create shop
  pg_dump "$DATABASE" | WHARF_PROJECT=shop npm run -s wharf schema:apply -`

const locationOf = (tokenFile: string | undefined): { readonly said: string; readonly inShell: string } =>
  tokenFile === undefined
    ? { said: 'the one of WHARF_ROOT_TOKEN', inShell: '$WHARF_ROOT_TOKEN' }
    : { said: `in ${tokenFile}`, inShell: `$(cat '${tokenFile}')` }
