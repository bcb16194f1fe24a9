import { shown } from './shown.ts'
import type { Job } from './types.ts'

type Failed = Pick<NonNullable<Job['error']>, 'detail' | 'errors'>

/** Each thing at fault that the error itself does not name: it often names the first. */
export function Faults({ error: { detail: whole, errors } }: { readonly error: Failed }) {
  const others = errors.filter(
    ({ line, detail }) => !whole.includes(detail) || (line !== undefined && !whole.includes(`line ${line}`)),
  )
  if (others.length === 0) return null
  return (
    <ul>
      {others.map(({ line, pointer, detail }) => (
        <li key={`${line} ${pointer} ${detail}`}>
          {line !== undefined && `Line ${line}: `}
          {shown(detail)}
        </li>
      ))}
    </ul>
  )
}
