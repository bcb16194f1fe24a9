/** What is not drawn, or turns all that comes after it around; but for what joins letters. */
const UNSEEN = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}]/gu

/** A text, such as a name, or a value, in which nothing is hidden: none is to turn the words around it. */
export const shown = (text: string): string =>
  text.replace(UNSEEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
