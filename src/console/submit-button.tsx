import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface SubmitProps {
  /** What it does: `Restore`. */
  readonly word: string
  readonly isBusy: boolean
  /** What is to be done before it can be pressed; undefined for nothing. */
  readonly first: string | undefined
  /** Buttons beside it. */
  readonly children?: ComponentChildren
}

/** Whether somebody has typed the name of what is to be replaced. */
export const isTyped = (typed: string, name: string): boolean => typed.trim().toLowerCase() === name

/** The main button of a form, which says what it waits for. */
export function SubmitButton({ word, isBusy, first, children }: SubmitProps) {
  const id = useId()
  return (
    <div class="actions">
      <button
        type="submit"
        class="main"
        disabled={isBusy || first !== undefined}
        aria-describedby={first === undefined ? undefined : id}
      >
        {word}
      </button>
      {children}
      {first !== undefined && (
        <span class="quiet" id={id}>
          {first}
        </span>
      )}
    </div>
  )
}
