/** For how long a button says that it has copied, in milliseconds. */
const SAID_MS = 2_000

/** Shows the buttons that copy examples, and this server's own address where an example sets it. */
export function offerCopies(): void {
  for (const origin of document.querySelectorAll('.origin')) origin.textContent = location.origin
  for (const button of document.querySelectorAll<HTMLButtonElement>('button.copy')) {
    const code = button.parentElement?.querySelector('code')
    if (!code) continue
    button.hidden = false
    const name = button.textContent
    button.addEventListener('click', () => {
      copy(code).then(
        (isCopied) => {
          button.textContent = isCopied ? 'Copied' : 'Press Ctrl+C'
          setTimeout(() => {
            button.textContent = name
          }, SAID_MS)
        },
        () => select(code),
      )
    })
  }
}

/** @returns false where the browser lets no page copy, as over plain HTTP: the text is selected then. */
async function copy(code: Element): Promise<boolean> {
  if (navigator.clipboard === undefined) {
    select(code)
    return false
  }
  await navigator.clipboard.writeText(code.textContent)
  return true
}

const select = (code: Element): void => getSelection()?.selectAllChildren(code)
