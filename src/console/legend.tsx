import type { ComponentChildren } from 'preact'

/** What becomes of a run: each mark with its word. */
const OF_RUNS = [
  ['proven', 'proven'],
  ['made', 'made'],
  ['gone', 'no longer kept'],
  ['running', 'running'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
  ['skipped', 'skipped'],
] as const

/** A night may have had no run, or not yet. */
const OF_NIGHTS = [...OF_RUNS, ['none', 'none'], ['ahead', 'yet to come']] as const

interface LegendProps {
  readonly of: 'nights' | 'runs'
  /** What the strip shows. */
  readonly children: ComponentChildren
}

/** What the marks of a strip mean. */
export const Legend = ({ of, children }: LegendProps) => (
  <p class="legend">
    <span>{children}</span>
    {(of === 'nights' ? OF_NIGHTS : OF_RUNS).map(([mark, word]) => (
      <span key={mark} aria-hidden="true">
        <span class={`mark ${mark}`} /> {word}
      </span>
    ))}
  </p>
)
