import { useEffect } from 'preact/hooks'

/** Names the document by what a page shows, where that is more than the view says. */
export function useTitle(text: string | undefined): void {
  useEffect(() => {
    if (text !== undefined) document.title = `${text.charAt(0).toUpperCase()}${text.slice(1)} · Wharf`
  }, [text])
}
