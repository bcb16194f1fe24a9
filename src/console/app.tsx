import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type Client, createClient, type Session } from './client.ts'
import { Data, StageData } from './data.tsx'
import { EventLog } from './event-log.tsx'
import { JobView } from './job.tsx'
import { Jobs } from './jobs.tsx'
import { Notifications } from './notifications.tsx'
import { Overview } from './overview.tsx'
import { People } from './people.tsx'
import { Restore } from './restore.tsx'
import { Roles } from './roles.tsx'
import { Rows } from './rows.tsx'
import { ScheduleView } from './schedule.tsx'
import { ScheduleForm } from './schedule-form.tsx'
import { Schedules } from './schedules.tsx'
import { Server } from './server.tsx'
import { forgetSession, keepSession, readSession, watchSession } from './session.ts'
import { SignIn } from './sign-in.tsx'
import { Transfer } from './transfer.tsx'
import type { Me } from './types.ts'
import { Upload } from './upload.tsx'
import { useKeys } from './use-keys.ts'
import { useLive } from './use-live.ts'
import { WebhookView } from './webhook.tsx'

export function App() {
  const [session, setSession] = useState(readSession)
  const [notice, setNotice] = useState<string>()
  const signIn = (given: Session): void => {
    keepSession(given)
    setNotice(undefined)
    setSession(given)
  }
  const signOut = (why?: string): void => {
    forgetSession()
    setNotice(why)
    setSession(undefined)
  }
  if (session === undefined) return <SignIn notice={notice} onSignedIn={signIn} />
  return <Console session={session} signOut={signOut} />
}

interface ConsoleProps {
  readonly session: Session
  readonly signOut: (why?: string) => void
}

function Console({ session, signOut }: ConsoleProps) {
  const path = useHash()
  // Once for a token: `signOut` is new with each drawing, and does the same.
  const client = useMemo(() => createClient(session, () => signOut('The token is not valid any more.')), [session])
  useEffect(() => watchSession(session, () => signOut('Signed out in another tab.')), [session])
  const view = viewOf(path)
  const { value: me } = useLive(
    'me',
    (signal) => client.json<Me>('/me', { signal }),
    () => undefined,
  )
  const isRoot = me?.root === true
  useKeys(ADDRESSES)
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  useEffect(() => {
    document.title = `${VIEWS.find(([name]) => name === view.name)?.[2]} · Wharf`
    // Where a page begins, as a browser has it: the keyboard and screen readers go on from there.
    if (!isFirst.current) main.current?.focus({ preventScroll: true })
    scrollTo(0, 0)
    isFirst.current = false
  }, [path])
  return (
    <>
      <header>
        <strong>Wharf</strong>
        <nav aria-label="Views">
          {VIEWS.filter(([name]) => isRoot || !ROOT_VIEWS.has(name)).map(([name, href, title, key]) => (
            <a key={name} href={href} title={`Keys: g ${key}`} aria-current={view.name === name ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <a href="/docs">Docs</a>
        <button type="button" onClick={() => signOut()}>
          Sign out
        </button>
      </header>
      <main key={path} ref={main} tabIndex={-1}>
        {view.draw(client)}
      </main>
    </>
  )
}

/** Each view that can be opened from anywhere: the key that does so stands last. */
const VIEWS = [
  ['overview', '#/', 'Overview', 'o'],
  ['jobs', '#/jobs', 'Jobs', 'j'],
  ['schedules', '#/schedules', 'Schedules', 's'],
  ['data', '#/data', 'Data', 'd'],
  ['transfer', '#/transfer', 'Transfer', 't'],
  ['import', '#/import', 'Import', 'i'],
  ['people', '#/people', 'People', 'p'],
  ['notifications', '#/notifications', 'Notifications', 'n'],
  ['server', '#/server', 'Server', 'v'],
] as const

/** What only the root token may see. */
const ROOT_VIEWS: ReadonlySet<string> = new Set(['notifications', 'server'])

const ADDRESSES = new Map<string, string>(VIEWS.map(([, href, , key]) => [key, href]))

interface View {
  /** Under which it is found in the navigation. */
  readonly name: (typeof VIEWS)[number][0]
  readonly draw: (client: Client) => ComponentChildren
}

/** Each view by its path; what comes after it are the parts of the path. */
const PATHS: readonly (readonly [RegExp, View['name'], (client: Client, ...parts: string[]) => ComponentChildren])[] = [
  [/^\/jobs\/([\w-]+)$/, 'jobs', (client, id = '') => <JobView client={client} id={id} />],
  [/^\/jobs/, 'jobs', (client) => <Jobs client={client} />],
  [
    /^\/restore\/([\w-]+)\/([\w-]+)$/,
    'overview',
    (client, jobId = '', project = '') => <Restore client={client} jobId={jobId} project={project} />,
  ],
  [/^\/schedules\/new$/, 'schedules', (client) => <ScheduleForm client={client} />],
  [/^\/schedules\/([\w-]+)$/, 'schedules', (client, id = '') => <ScheduleView client={client} id={id} />],
  [/^\/schedules/, 'schedules', (client) => <Schedules client={client} />],
  [
    /^\/data\/([\w-]+)\/([\w-]+)\/([^/]+)$/,
    'data',
    (client, project = '', stage = '', table = '') => (
      <Rows client={client} project={project} stage={stage} table={decoded(table)} />
    ),
  ],
  [
    /^\/data\/([\w-]+)\/([\w-]+)$/,
    'data',
    (client, project = '', stage = '') => <StageData client={client} project={project} stage={stage} />,
  ],
  [/^\/data$/, 'data', (client) => <Data client={client} />],
  [/^\/transfer$/, 'transfer', (client) => <Transfer client={client} />],
  [
    /^\/log\/([\w-]+)\/([\w-]+)$/,
    'data',
    (client, project = '', stage = '') => <EventLog client={client} project={project} stage={stage} />,
  ],
  [/^\/roles\/([\w-]+)$/, 'people', (client, project = '') => <Roles client={client} project={project} />],
  [/^\/notifications\/([\w-]+)$/, 'notifications', (client, id = '') => <WebhookView client={client} id={id} />],
  [/^\/notifications$/, 'notifications', (client) => <Notifications client={client} />],
  [/^\/server$/, 'server', (client) => <Server client={client} />],
  [/^\/people$/, 'people', (client) => <People client={client} />],
  [/^\/import$/, 'import', (client) => <Upload client={client} />],
]

/** Addresses are typed, too. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function viewOf(path: string): View {
  for (const [pattern, name, draw] of PATHS) {
    const [, ...parts] = pattern.exec(path) ?? []
    if (pattern.test(path)) return { name, draw: (client) => draw(client, ...parts) }
  }
  return { name: 'overview', draw: (client) => <Overview client={client} /> }
}

function useHash(): string {
  const read = (): string => location.hash.slice(1) || '/'
  const [path, setPath] = useState(read)
  useEffect(() => {
    const onChange = (): void => setPath(read())
    addEventListener('hashchange', onChange)
    // It may have changed since this was drawn.
    onChange()
    return () => removeEventListener('hashchange', onChange)
  }, [])
  return path
}
