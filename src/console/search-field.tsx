import { useEffect, useRef, useState } from 'preact/hooks'

/** How long nothing is typed before it is searched, in milliseconds. */
const PAUSE_MS = 200

/** By which the key `/` finds the field of the view. */
export const SEARCH_ID = 'search'

interface SearchProps {
  readonly label: string
  readonly value: string
  readonly onChange: (text: string) => void
}

/** Where a list is searched, once what is typed has come to rest. */
export function SearchField({ label, value, onChange }: SearchProps) {
  const [typed, setTyped] = useState(value)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  return (
    <input
      id={SEARCH_ID}
      type="search"
      class="search"
      placeholder={`${label} ( / )`}
      aria-label={label}
      value={typed}
      onInput={({ currentTarget: { value: text } }) => {
        setTyped(text)
        clearTimeout(timer.current)
        timer.current = setTimeout(() => onChange(text.trim()), PAUSE_MS)
      }}
    />
  )
}
