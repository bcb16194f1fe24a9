import { type AppError, wrongUse } from '../../errors.ts'
import { SLUG_PATTERN } from '../../lib/slug.ts'

export interface RemoteTarget {
  readonly kind: 'remote'
  /** `https://host:port`, the port left out where it is the scheme's own. */
  readonly origin: string
  readonly project: string | undefined
  /** Undefined where the DSN carries none. */
  readonly token: string | undefined
  /** The DSN without its token, for messages. */
  readonly name: string
}

/** What a command is about: the local project, or one of another server. */
export type Target = { readonly kind: 'local' } | RemoteTarget

const PROJECT_FORM = 'wharf://<project>:<TOKEN>@<host>[:port], or "." for the local project'
const SERVER_FORM = 'wharf://[<project>][:<TOKEN>]@<host>[:port], or "." for the local server'

/**
 * Reads the argument that names a project: nothing or `.` is the local one.
 *
 * @throws {AppError} WRONG_USE, saying what is expected and never what was given, since that may hold a token.
 */
export function parseProjectTarget(text: string | undefined): Target {
  const target = parseTarget(text, PROJECT_FORM)
  if (target.kind === 'remote' && target.project === undefined) throw malformed('it names no project', PROJECT_FORM)
  return target
}

/** The same for commands about a server as a whole, where the DSN needs no project. */
export const parseServerTarget = (text: string | undefined): Target => parseTarget(text, SERVER_FORM)

function parseTarget(text: string | undefined, form: string): Target {
  if (text === undefined || text === '.') return { kind: 'local' }
  const [, scheme, rest = ''] = /^(wharf(?:\+https?)?):\/\/(\S*)$/i.exec(text) ?? []
  if (scheme === undefined) throw malformed('it does not begin with wharf://, wharf+https:// or wharf+http://', form)
  const url = parseUrl(scheme.toLowerCase(), rest)
  if (!url) throw malformed('its host, its port or its token is not well formed', form)
  if (url.pathname !== '/' || /[?#]/.test(rest)) throw malformed('nothing can follow the host and its port', form)

  const project = decode(url.username)
  const token = decode(url.password)
  if (project === undefined || token === undefined) throw malformed('its percent-encoding is broken', form)
  if (project !== '' && !SLUG_PATTERN.test(project)) throw malformed('what stands for the project is not a slug', form)
  return {
    kind: 'remote',
    origin: url.origin,
    project: project || undefined,
    token: token || undefined,
    name: `${scheme.toLowerCase()}://${project && `${project}@`}${url.host}`,
  }
}

/** Parsed as an http(s) URL, so that hosts and ports are checked, and written, as everywhere else. */
function parseUrl(scheme: string, rest: string): URL | undefined {
  if (!URL.canParse(`http://${rest}`)) return undefined
  const { hostname } = new URL(`http://${rest}`)
  const plain = scheme === 'wharf+http' || (scheme === 'wharf' && isLoopback(hostname))
  return new URL(`${plain ? 'http' : 'https'}://${rest}`)
}

/** @param hostname as `URL` writes it: IPv4 in full, IPv6 at its shortest and in brackets. */
export const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    // The only error there is; its message quotes nothing.
    return undefined
  }
}

const malformed = (problem: string, form: string): AppError =>
  wrongUse(
    `the address is not usable, ${problem}: expected ${form}; in a token, "%", "/", "?", "#" and "@" are percent-encoded`,
  )
