import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type Client, createClient, type Session } from './client.ts'
import { Data, StageData } from './data.tsx'
import { EventLog } from './event-log.tsx'
import { Failure } from './failure.tsx'
import { JobView } from './job.tsx'
import { Jobs } from './jobs.tsx'
import { Loading } from './loading.tsx'
import { Notifications } from './notifications.tsx'
import { Overview } from './overview.tsx'
import { findPath, type PathName } from './paths.ts'
import { People } from './people.tsx'
import { Readings, useReports } from './reading.ts'
import { Restore } from './restore.tsx'
import { Roles } from './roles.tsx'
import { Rows } from './rows.tsx'
import { ScheduleView } from './schedule.tsx'
import { ScheduleForm } from './schedule-form.tsx'
import { Schedules } from './schedules.tsx'
import { Server } from './server.tsx'
import { watchSession } from './session.ts'
import { Transfer } from './transfer.tsx'
import type { Me } from './types.ts'
import { Upload } from './upload.tsx'
import { useKeys } from './use-keys.ts'
import { useLive } from './use-live.ts'
import { WebhookView } from './webhook.tsx'

export interface ConsoleProps {
  readonly session: Session
  readonly signOut: (why?: string) => void
}

/** All that is behind the sign-in. */
export function Console({ session, signOut }: ConsoleProps) {
  const { path, visit } = useHash()
  // Once for a token: `signOut` is new with each drawing, and does the same.
  const client = useMemo(() => createClient(session, () => signOut('The token is not valid any more.')), [session])
  useEffect(() => watchSession(session, () => signOut('Signed out in another tab.')), [session])
  const { name, parts } = findPath(path)
  const view = DRAWN[name]
  const { value: me } = useLive(
    'me',
    (signal) => client.json<Me>('/me', { signal }),
    () => undefined,
  )
  const isRoot = me?.root === true
  useKeys(ADDRESSES)
  const [isLost, reportLost] = useReports()
  const [isEmpty, reportEmpty] = useReports()
  const reading = useMemo(() => ({ reportLost, reportEmpty }), [])
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  // Before the page itself, which may say more.
  useLayoutEffect(() => {
    document.title = `${VIEWS.find(([each]) => each === view.name)?.[2]} · Wharf`
  }, [visit])
  useEffect(() => {
    // Where a page begins, as a browser has it: the keyboard and screen readers go on from there.
    if (!isFirst.current) main.current?.focus({ preventScroll: true })
    scrollTo(0, 0)
    isFirst.current = false
  }, [visit])
  return (
    <>
      <header>
        <strong>Wharf</strong>
        <nav aria-label="Views">
          {VIEWS.filter(([each]) => isRoot || !ROOT_VIEWS.has(each)).map(([each, href, title, key]) => (
            <a key={each} href={href} title={`Keys: g ${key}`} aria-current={view.name === each ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <a href="/docs">Docs</a>
        <button type="button" onClick={() => signOut()}>
          Sign out
        </button>
      </header>
      {isLost && (
        <div class="lost">
          <Failure text="Wharf does not answer. This page tries again by itself." />
        </div>
      )}
      <main key={visit} ref={main} tabIndex={-1}>
        <Readings.Provider value={reading}>{view.draw(client, ...parts)}</Readings.Provider>
        <Loading isLoading={isEmpty && !isLost} />
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
  readonly draw: (client: Client, ...parts: string[]) => ComponentChildren
}

const DRAWN: Readonly<Record<PathName, View>> = {
  overview: { name: 'overview', draw: (client) => <Overview client={client} /> },
  restore: {
    name: 'overview',
    draw: (client, jobId = '', project = '') => <Restore client={client} jobId={jobId} project={project} />,
  },
  jobs: { name: 'jobs', draw: (client, asked = '') => <Jobs client={client} asked={asked} /> },
  job: { name: 'jobs', draw: (client, id = '') => <JobView client={client} id={id} /> },
  schedules: { name: 'schedules', draw: (client) => <Schedules client={client} /> },
  newSchedule: { name: 'schedules', draw: (client) => <ScheduleForm client={client} /> },
  schedule: { name: 'schedules', draw: (client, id = '') => <ScheduleView client={client} id={id} /> },
  data: { name: 'data', draw: (client) => <Data client={client} /> },
  stage: {
    name: 'data',
    draw: (client, project = '', stage = '') => <StageData client={client} project={project} stage={stage} />,
  },
  rows: {
    name: 'data',
    draw: (client, project = '', stage = '', table = '') => (
      <Rows client={client} project={project} stage={stage} table={decoded(table)} />
    ),
  },
  eventLog: {
    name: 'data',
    draw: (client, project = '', stage = '') => <EventLog client={client} project={project} stage={stage} />,
  },
  transfer: { name: 'transfer', draw: (client) => <Transfer client={client} /> },
  import: { name: 'import', draw: (client) => <Upload client={client} /> },
  people: { name: 'people', draw: (client) => <People client={client} /> },
  roles: { name: 'people', draw: (client, project = '') => <Roles client={client} project={project} /> },
  notifications: { name: 'notifications', draw: (client) => <Notifications client={client} /> },
  webhook: { name: 'notifications', draw: (client, id = '') => <WebhookView client={client} id={id} /> },
  server: { name: 'server', draw: (client) => <Server client={client} /> },
}

/** Addresses are typed, too. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** What the address names, and how many were opened before: a view that writes its own address stays open. */
function useHash(): { readonly path: string; readonly visit: number } {
  const read = (): string => location.hash.slice(1) || '/'
  const [at, setAt] = useState(() => ({ path: read(), visit: 0 }))
  useEffect(() => {
    const onChange = (): void => setAt(({ visit }) => ({ path: read(), visit: visit + 1 }))
    addEventListener('hashchange', onChange)
    // It may have changed since this was drawn.
    if (read() !== at.path) onChange()
    return () => removeEventListener('hashchange', onChange)
  }, [])
  return at
}
