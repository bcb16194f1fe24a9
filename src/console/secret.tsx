import { useState } from 'preact/hooks'

interface SecretProps {
  readonly label: string
  /** Of what it is. */
  readonly name: string
  /** What it is. */
  readonly says: string
  readonly secret: string
  readonly onClose: () => void
}

/** What is shown once. */
export function Secret({ label, name, says, secret, onClose }: SecretProps) {
  const [isCopied, setCopied] = useState(false)
  // A browser lets no page copy that came over an unencrypted connection.
  const copy = isSecureContext ? () => navigator.clipboard.writeText(secret).then(() => setCopied(true)) : undefined
  return (
    <section class="card" aria-label={label}>
      <h2>{name}</h2>
      <p>{says} It is shown only now: copy it.</p>
      <p>
        <code>{secret}</code>
      </p>
      <p class="actions">
        {copy && (
          <button type="button" onClick={() => void copy()}>
            Copy
          </button>
        )}
        <button type="button" onClick={onClose}>
          I have it
        </button>
        <span role="status">{isCopied && 'Copied.'}</span>
      </p>
    </section>
  )
}
