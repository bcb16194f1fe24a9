import type { ComponentChildren } from 'preact'

interface ScrollingProps {
  readonly label: string
  readonly children: ComponentChildren
}

/** What may be wider than the page. */
export const Scrolling = ({ label, children }: ScrollingProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be within reach of the keyboard
  <section class="scrolls" aria-label={label} tabIndex={0}>
    {children}
  </section>
)
