import { BOX, type Edge, GAP, layOut } from './schema-layout.ts'
import { Scrolling } from './scrolling.tsx'
import { shown } from './shown.ts'
import type { TableOverview } from './types.ts'

/** Around all, so that outlines are not cut off. */
const MARGIN = 8

/** A picture of more tables is folded at first, and so is any on a phone: either leaves no room for the tables themselves. */
const MAX_OPEN = 40

interface PictureProps {
  readonly path: string
  readonly tables: readonly TableOverview[]
}

/** The tables of a stage, with an arrow for each foreign key. */
export function SchemaPicture({ path, tables }: PictureProps) {
  const { width, height, boxes, edges } = layOut(tables)
  if (edges.length === 0) return null
  const size = { width: width + 2 * MARGIN, height: height + 2 * MARGIN }
  return (
    <details open={boxes.length <= MAX_OPEN && matchMedia('(min-width: 40rem)').matches}>
      <summary>Tables, with an arrow to what each refers to</summary>
      <Scrolling label="Picture of the schema" class="frame">
        <svg class="picture" {...size} viewBox={`${-MARGIN} ${-MARGIN} ${size.width} ${size.height}`}>
          <title>Tables, with an arrow for each foreign key</title>
          <defs>
            <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
              <path class="head" d="M0 0L8 4L0 8z" />
            </marker>
          </defs>
          {edges.map((edge) => (
            <path key={edge.key} class="edge" d={lineOf(edge)} marker-end="url(#arrow)">
              <title>{shown(`${edge.from.name} → ${edge.to.name}`)}</title>
            </path>
          ))}
          {boxes.map(({ name, x, y }) => (
            <a key={name} href={`#/data/${path}/${encodeURIComponent(name)}`}>
              <title>{shown(name)}</title>
              <rect x={x} y={y} width={BOX.width} height={BOX.height} rx="4" />
              {/* A text of SVG has no ellipsis. */}
              <foreignObject x={x} y={y} width={BOX.width} height={BOX.height}>
                <div class="label">{shown(name)}</div>
              </foreignObject>
            </a>
          ))}
        </svg>
      </Scrolling>
    </details>
  )
}

/**
 * From the side of a table that faces the other, or around the right sides of two in one column. What leads past other columns goes
 * between two rows, where no table stands.
 */
function lineOf({ from, to }: Edge): string {
  const middle = BOX.height / 2
  const [startY, endY] = [from.y + middle, to.y + middle]
  if (from.x === to.x) {
    const side = from.x + BOX.width
    const [leave, arrive] = from === to ? [startY - 8, endY + 8] : [startY, endY]
    return `M${side} ${leave}C${side + 45} ${leave} ${side + 45} ${arrive} ${side} ${arrive}`
  }
  const isToTheLeft = from.x > to.x
  const [start, end] = isToTheLeft ? [from.x, to.x + BOX.width] : [from.x + BOX.width, to.x]
  const gap = isToTheLeft ? -GAP.x : GAP.x
  const [next, last] = [start + gap, end - gap]
  if (next === end) return `M${start} ${startY}${curve(start, startY, end, endY)}`
  const between = startY + Math.sign(endY - startY || 1) * (middle + GAP.y / 2)
  return `M${start} ${startY}${curve(start, startY, next, between)}L${last} ${between}${curve(last, between, end, endY)}`
}

/** Level at both ends. */
function curve(x: number, y: number, endX: number, endY: number): string {
  const bend = (x - endX) / 2
  return `C${x - bend} ${y} ${endX + bend} ${endY} ${endX} ${endY}`
}
