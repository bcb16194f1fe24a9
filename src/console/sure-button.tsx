import { useState } from 'preact/hooks'

interface SureButtonProps {
  /** What it does: `Delete`. */
  readonly word: string
  /** What it does that to, for who hears the button alone. */
  readonly name?: string
  readonly isBusy: boolean
  readonly onSure: () => void
  /** Called at the first click. */
  readonly onAsked?: () => void
}

/** A button for what cannot be taken back: it is to be pressed twice, and says so. */
export function SureButton({ word, name, isBusy, onSure, onAsked }: SureButtonProps) {
  const [isAsked, setAsked] = useState(false)
  const text = isAsked ? `${word} for good` : word
  const ask = (): void => {
    setAsked(true)
    onAsked?.()
  }
  return (
    <button
      type="button"
      class="danger"
      disabled={isBusy}
      aria-label={name === undefined ? undefined : `${text}: ${name}`}
      onClick={isAsked ? onSure : ask}
    >
      {text}
    </button>
  )
}
