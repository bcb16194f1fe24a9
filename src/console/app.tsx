import { useEffect, useMemo, useState } from 'preact/hooks'
import { createClient } from './client.ts'
import { JobView } from './job.tsx'
import { Jobs } from './jobs.tsx'
import { Overview } from './overview.tsx'
import { Restore } from './restore.tsx'
import { SignIn } from './sign-in.tsx'
import { Upload } from './upload.tsx'

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
    sessionStorage.removeItem(TOKEN)
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
  const jobId = /^\/jobs\/([\w-]+)$/.exec(path)?.[1]
  const [, from, project] = /^\/restore\/([\w-]+)\/([\w-]+)$/.exec(path) ?? []
  const at = path.startsWith('/jobs') ? 'jobs' : path === '/import' ? 'import' : 'overview'
  return (
    <>
      <header>
        <strong>Wharf</strong>
        <nav aria-label="Views">
          <a href="#/" aria-current={at === 'overview' ? 'page' : undefined}>
            Overview
          </a>
          <a href="#/jobs" aria-current={at === 'jobs' ? 'page' : undefined}>
            Jobs
          </a>
          <a href="#/import" aria-current={at === 'import' ? 'page' : undefined}>
            Import
          </a>
        </nav>
        <button type="button" onClick={() => signOut()}>
          Sign out
        </button>
      </header>
      <main>
        {from && project ? (
          <Restore key={path} client={client} jobId={from} project={project} />
        ) : jobId ? (
          <JobView client={client} id={jobId} />
        ) : at === 'jobs' ? (
          <Jobs client={client} />
        ) : at === 'import' ? (
          <Upload client={client} />
        ) : (
          <Overview client={client} />
        )}
      </main>
    </>
  )
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
