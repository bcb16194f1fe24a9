import { shown } from './shown.ts'

/** What went wrong, for screen readers at once, too. */
export const Failure = ({ text }: { readonly text: string | undefined }) => (
  <div role="alert">{text !== undefined && <p class="failure">{shown(text)}</p>}</div>
)
