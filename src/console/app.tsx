import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Session } from './client.ts'
import type { ConsoleProps } from './console.tsx'
import { Failure } from './failure.tsx'
import { Loading } from './loading.tsx'
import { forgetSession, keepSession, readSession } from './session.ts'
import { SignIn } from './sign-in.tsx'

/** The sign-in, and what is behind it: that is loaded once something is painted, while a token is looked for. */
export function App() {
  const [session, setSession] = useState(readSession)
  const [notice, setNotice] = useState<string>()
  const [{ Console, failed }, setLoaded] = useState<Loaded>({})
  useEffect(() => void loadConsole().then(setLoaded), [])
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
  if (session && Console) return <Console session={session} signOut={signOut} />
  return (
    <>
      <Head />
      {session ? (
        <main>{failed ? <NotLoaded /> : <Loading isLoading />}</main>
      ) : (
        <SignIn notice={notice} onSignedIn={signIn} />
      )}
    </>
  )
}

interface Loaded {
  readonly Console?: ComponentType<ConsoleProps>
  readonly failed?: true
}

const loadConsole = (): Promise<Loaded> =>
  import('./console.tsx').then(
    ({ Console }) => ({ Console }),
    () => ({ failed: true }),
  )

/** As it stands in `index.html`, so that something is painted before any script runs. */
const Head = () => (
  <header>
    <strong>Wharf</strong>
  </header>
)

/** A browser does not load a module again that it could not load. */
const NotLoaded = () => (
  <>
    <Failure text="Wharf does not answer." />
    <p class="actions">
      <button type="button" onClick={() => location.reload()}>
        Load the page again
      </button>
    </p>
  </>
)
