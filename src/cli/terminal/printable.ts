const CONTROLS = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

/** Makes text of others harmless to a terminal, and one line of it: names and messages may hold escape sequences. */
export function printable(text: string): string {
  return text.replace(/[\t\r\n]+/g, ' ').replace(CONTROLS, '\ufffd')
}
