import type { Session } from './client.ts'

/** The token lives as long as the tab, and no other tab sees it. */
const TOKEN = 'wharf-token'

/** That the browser has a cookie; the cookie itself is for no script to read. */
const STAYS = 'wharf-stays'

export function readSession(): Session | undefined {
  const token = sessionStorage.getItem(TOKEN)
  if (token !== null) return { token }
  return localStorage.getItem(STAYS) === null ? undefined : 'cookie'
}

export function keepSession(session: Session): void {
  if (session === 'cookie') localStorage.setItem(STAYS, '1')
  else sessionStorage.setItem(TOKEN, session.token)
}

/** Calls back when another tab signs this browser out, whose cookie is gone then. @returns ends that. */
export function watchSession(session: Session, onSignedOut: () => void): () => void {
  const look = (): void => {
    if (session === 'cookie' && readSession() !== 'cookie') onSignedOut()
  }
  addEventListener('storage', look)
  return () => removeEventListener('storage', look)
}

export function forgetSession(): void {
  // An upload that has begun is the token's, too.
  sessionStorage.clear()
  if (localStorage.getItem(STAYS) === null) return
  localStorage.removeItem(STAYS)
  // Where Wharf does not answer, the cookie stays until it ends; it counts for nothing but what this page sends.
  void fetch('/session', { method: 'DELETE' }).catch(() => undefined)
}
