import type { ComponentChildren } from 'preact'

interface ScrollingProps {
  readonly label: string
  readonly class?: string
  readonly children: ComponentChildren
}

/** What may be wider than the page. */
export const Scrolling = ({ label, class: also = '', children }: ScrollingProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be within reach of the keyboard
  <section class={`scrolls ${also}`} aria-label={label} tabIndex={0}>
    {children}
  </section>
)
