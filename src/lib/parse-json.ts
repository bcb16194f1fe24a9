/** @returns the value; undefined, which JSON can't say, where the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Without the reason: V8 quotes the text in its message, and that may be a secret.
    return undefined
  }
}
