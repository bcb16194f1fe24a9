/** Text that is safe to stand in a page. */
export interface Html {
  readonly text: string
}

type Part = Html | string | number | boolean | undefined | readonly Part[]

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Takes text as it is; for what is known to be safe only. */
export const raw = (text: string): Html => ({ text })

/** Builds HTML. What is put in is escaped unless it is HTML itself; `undefined` and `false` leave nothing. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  raw(strings.map((text, index) => text + render(parts[index])).join(''))

/** Joins parts with something in between. */
export const join = (parts: readonly Part[], between: string): Html =>
  html`${parts.flatMap((part, index) => (index === 0 ? [part] : [between, part]))}`

/** Text in which `code` stands between backticks. */
export const prose = (text = ''): Html =>
  html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`

function render(part: Part): string {
  if (part === undefined || part === false) return ''
  if (isList(part)) return part.map(render).join('')
  if (typeof part === 'object') return part.text
  return String(part).replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '')
}

const isList = (part: Part): part is readonly Part[] => Array.isArray(part)
