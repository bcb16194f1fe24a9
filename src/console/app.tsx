import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type Client, createClient } from './client.ts'
import { Data, StageData } from './data.tsx'
import { JobView } from './job.tsx'
import { Jobs } from './jobs.tsx'
import { Overview } from './overview.tsx'
import { People } from './people.tsx'
import { Restore } from './restore.tsx'
import { Rows } from './rows.tsx'
import { ScheduleView } from './schedule.tsx'
import { ScheduleForm } from './schedule-form.tsx'
import { Schedules } from './schedules.tsx'
import { SignIn } from './sign-in.tsx'
import { Transfer } from './transfer.tsx'
import { Upload } from './upload.tsx'
import { useKeys } from './use-keys.ts'

/** The token lives as long as the tab, and no other tab sees it. */
const TOKEN = 'wharf-token'

export function App() {
  const [token, setToken] = useState(() => sessionStorage.getItem(TOKEN))
  const [notice, setNotice] = useState<string>()
  const signIn = (given: string): void => {
    sessionStorage.setItem(TOKEN, given)
    setNotice(undefined)
    setToken(given)
  }
  const signOut = (why?: string): void => {
    // An upload that has begun is the token's, too.
    sessionStorage.clear()
    setNotice(why)
    setToken(null)
  }
  if (token === null) return <SignIn notice={notice} onToken={signIn} />
  return <Console token={token} signOut={signOut} />
}

function Console({ token, signOut }: { readonly token: string; readonly signOut: (why?: string) => void }) {
  const path = useHash()
  // Once for a token: `signOut` is new with each drawing, and does the same.
  const client = useMemo(() => createClient(token, () => signOut('The token is not valid any more.')), [token])
  const view = viewOf(path)
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
          {VIEWS.map(([name, href, title, key]) => (
            <a key={name} href={href} title={`Keys: g ${key}`} aria-current={view.name === name ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
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
] as const

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
