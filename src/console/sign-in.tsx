import { useState } from 'preact/hooks'
import { createClient, detailOfError } from './client.ts'
import { Failure } from './failure.tsx'

interface SignInProps {
  readonly notice: string | undefined
  readonly onToken: (token: string) => void
}

/** Asks for a token, and whether Wharf knows it. */
export function SignIn({ notice, onToken }: SignInProps) {
  const [token, setToken] = useState('')
  const [failure, setFailure] = useState(notice)
  const tryToken = async (): Promise<void> => {
    const given = token.trim()
    // A header holds no other characters, and `fetch` would say so in words for programmers.
    if (!/^[\x21-\x7e]+$/.test(given)) return setFailure('A token has letters, digits and signs, and no spaces.')
    try {
      await createClient(given, () => undefined).json('/me')
      onToken(given)
    } catch (error) {
      setFailure(detailOfError(error))
    }
  }
  return (
    <main class="sign-in">
      <h1>Wharf</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void tryToken()
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
        <button type="submit" class="main">
          Sign in
        </button>
      </form>
      <Failure text={failure} />
      <p class="quiet">The token stays in this tab, until you sign out or close it.</p>
    </main>
  )
}
