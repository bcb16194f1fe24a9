import { useState } from 'preact/hooks'
import { createClient, type Session } from './client.ts'
import { Failure } from './failure.tsx'
import { useAction } from './use-action.ts'

/** For how long who wants to stays signed in. */
const DAYS = 30

interface SignInProps {
  readonly notice: string | undefined
  readonly onSignedIn: (session: Session) => void
}

/** Asks for a token, and whether Wharf knows it. */
export function SignIn({ notice, onSignedIn }: SignInProps) {
  const [token, setToken] = useState('')
  const [stays, setStays] = useState(false)
  const { isBusy, failure, act } = useAction()
  const signIn = async (): Promise<void> => {
    const given = token.trim()
    // A header holds no other characters, and `fetch` would say so in words for programmers.
    if (!/^[\x21-\x7e]+$/.test(given)) throw new Error('A token has letters, digits and signs, and no spaces.')
    const session = { token: given }
    const client = createClient(session, () => undefined)
    if (stays) await client.run('/session', { method: 'POST', json: { days: DAYS } })
    else await client.json('/me')
    onSignedIn(stays ? 'cookie' : session)
  }
  return (
    <main class="sign-in">
      <h1>Sign in</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          act(signIn)
        }}
      >
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          required
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        <label>
          <input type="checkbox" checked={stays} onChange={(event) => setStays(event.currentTarget.checked)} /> Stay
          signed in on this device
        </label>
        <button type="submit" class="main" disabled={isBusy}>
          Sign in
        </button>
      </form>
      <Failure text={failure ?? (isBusy ? undefined : notice)} />
      <p class="quiet">
        You get a token from the person who runs this server. If that is you: the root token was printed when Wharf
        first started, and is in the file <code>root-token</code> of its data folder.
      </p>
      <p class="quiet">
        {stays
          ? `For ${DAYS} days, in a cookie that no script can read, until you sign out or the token ends.`
          : 'The token stays in this tab, until you sign out or close it.'}
      </p>
    </main>
  )
}
