import { createHash, type Hash } from 'node:crypto'
import type { ArchiveItem } from '../archive/archive-item.ts'
import { STRUCTURE_KINDS } from '../archive/lines.ts'
import { type Grammar, loadGrammar } from '../archive/sql/grammar.ts'
import { isLastPart } from '../archive/table-parts.ts'
import type { Fault } from '../errors.ts'
import { createTurns } from '../lib/give-way.ts'
import type { FindRoles } from '../projects/role-names.ts'
import { reasonsAgainst } from '../transfer/import/rights-of-archive.ts'
import { isBuiltAsSaid, type LineOfStructure } from '../transfer/structure/compare-built.ts'
import { nameOf as nameOfGranted, type ObjectGrants } from '../transfer/structure/grants/grants.ts'
import { grantsWithoutRoles, policyWithoutRoles, rolesIn } from '../transfer/structure/grants/without-roles.ts'
import type { OrderedLine } from '../transfer/structure/lines.ts'

/**
 * What must be the same after a restore, each by its name: roles, of each stage the number and the sum of its events,
 * the lines of structure, and of each table the number and the sum of its rows. They may stand in other parts: a table
 * that was restored has no gaps in its blocks.
 */
export type Contents = ReadonlyMap<string, string>

const MAX_FAULTS = 20

/**
 * Reads an archive through. What it keeps grows with the number of tables and roles, and not with that of rows.
 *
 * @param items with rows encoded as text, in which the same rows are the same bytes.
 * @param number of its first project.
 */
export async function readContents(items: AsyncIterable<ArchiveItem>, number = 1): Promise<Contents> {
  const contents = new Map<string, string>()
  const logs = new Map<string, { count: number; readonly hash: Hash }>()
  // Projects by their number: those that are restored have other names.
  let project = number - 1
  let stage = ''
  let rows = { count: 0, hash: createHash('sha256') }
  for await (const item of items) {
    if (item.kind === 'project') project += 1
    if (item.kind === 'stage') stage = item.content.slug
    if (item.kind === 'role')
      contents.set(`role "${item.content.name}" of project ${project}`, JSON.stringify(item.content))
    if (item.kind === 'event') {
      const name = `the events of stage "${item.content.stage}" of project ${project}`
      const log = logs.get(name) ?? { count: 0, hash: createHash('sha256') }
      log.count += 1
      log.hash.update(`${JSON.stringify(item.content)}\n`)
      // Rows come beside the rest of an event, in pieces.
      for (const piece of item.rows ?? []) log.hash.update(piece)
      logs.set(name, log)
    }
    if (item.kind === 'row') {
      rows.count += item.count
      rows.hash.update(item.bytes.now)
    }
    if (item.kind === 'rowsEnd' && isLastPart(item.content)) {
      const name = `the rows of table "${item.content.table}" of stage "${stage}" of project ${project}`
      contents.set(name, `${rows.count} ${rows.hash.digest('hex')}`)
      rows = { count: 0, hash: createHash('sha256') }
    }
    const name = nameOf(item)
    if (name === undefined || !('content' in item)) continue
    const line = { kind: item.kind, content: comparable(item) }
    contents.set(`${name} of stage "${stage}" of project ${project}`, JSON.stringify(line))
  }
  for (const [name, { count, hash }] of logs) contents.set(name, `${count} ${hash.digest('hex')}`)
  return contents
}

/** Those of one project, by its number. */
export const ofProject = (contents: Contents, number: number): Contents =>
  new Map([...contents].filter(([name]) => name.endsWith(` of project ${number}`)))

/** Leaves out the event by which each stage's log records the restore itself: its last one. */
export async function* withoutRestore(items: AsyncIterable<ArchiveItem>): AsyncGenerator<ArchiveItem, void, undefined> {
  let last: Extract<ArchiveItem, { kind: 'event' }> | undefined
  for await (const item of items) {
    const isSameLog = item.kind === 'event' && item.content.stage === last?.content.stage
    if (last && (isSameLog || last.content.kind !== 'import')) yield last
    last = item.kind === 'event' ? item : undefined
    if (!last) yield item
  }
}

/**
 * What is compared of a line of structure. Which version of an extension is there, and in which schema, is the server's to
 * say, where it has one already.
 */
const comparable = (item: Extract<ArchiveItem, { readonly content: object }>): object =>
  item.kind === 'extension' ? { name: item.content.name } : item.content

/**
 * Leaves out what an archive says of roles that the server does not have, or of Wharf's own, as an import does: a restore where
 * they are brings that back, too.
 */
export async function withoutUnknownRoles(contents: Contents, findRoles: FindRoles): Promise<Contents> {
  const lines = [...contents].flatMap(([name, text]) => {
    const line = toLine(text) as AnyLine | undefined
    return line?.kind === 'grants' || line?.kind === 'policy' ? [{ name, line }] : []
  })
  const grants = lines.flatMap(({ line }) => (line.kind === 'grants' ? [line.content] : []))
  const policies = lines.flatMap(({ line }) => (line.kind === 'grants' ? [] : [line]))
  const roles = rolesIn(grants, { extensions: [], sequences: [], inOrder: policies })
  const reasonAgainst = await reasonsAgainst(findRoles, roles)
  const known = new Map(contents)
  for (const { name, line } of lines) {
    const content =
      line.kind === 'grants'
        ? grantsWithoutRoles([line.content], reasonAgainst).grants[0]
        : policyWithoutRoles(line, reasonAgainst).line?.content
    if (content) known.set(name, JSON.stringify({ kind: line.kind, content }))
    else known.delete(name)
  }
  return known
}

/** A line of rights, or one that stands in an order. */
type AnyLine = { readonly kind: 'grants'; readonly content: ObjectGrants } | OrderedLine

/** What a line of structure describes, with all that PostgreSQL tells it apart by; undefined for another line. */
function nameOf(item: ArchiveItem): string | undefined {
  if (item.kind === 'grants') return `the rights on ${nameOfGranted(item.content)}`
  if (item.kind === 'row' || !STRUCTURE_KINDS.some((kind) => kind === item.kind)) return undefined
  const { name, table, arguments: types, left = '', right }: Partial<Record<string, unknown>> = { ...item.content }
  const operands = types === undefined && right !== undefined ? `${left}, ${right}` : types
  const called = operands === undefined ? `"${name}"` : `"${name}"(${operands})`
  return table === undefined ? `${item.kind} ${called}` : `${item.kind} ${called} of table "${table}"`
}

/**
 * Every difference in words, up to a number of them.
 *
 * @param slugs what the projects of the archive are called, in its order; by their numbers where that is missing.
 */
export async function compareContents(
  original: Contents,
  restored: Contents,
  slugs: readonly string[] = [],
): Promise<Fault[]> {
  const [grammar, turn] = [await loadGrammar(), createTurns()]
  const faults: Fault[] = []
  for (const name of new Set([...original.keys(), ...restored.keys()])) {
    const before = original.get(name)
    const after = restored.get(name)
    if (before === after) continue
    await turn()
    if (before !== undefined && after !== undefined && isSameLine(grammar, before, after)) continue
    faults.push({ detail: `${withSlug(name, slugs)} ${problemOf(name, before, after)}` })
    if (faults.length === MAX_FAULTS) break
  }
  return faults
}

const withSlug = (name: string, slugs: readonly string[]): string =>
  name.replace(/(?<= of project )\d+$/, (number) => {
    const slug = slugs[Number(number) - 1]
    return slug === undefined ? number : `"${slug}"`
  })

function problemOf(name: string, before: string | undefined, after: string | undefined): string {
  const areMany = /^the (?:rows|events|rights) /.test(name)
  if (after === undefined) return areMany ? 'were not restored' : 'was not restored'
  if (before === undefined) return areMany ? 'were added' : 'was added'
  const [all, found] = [countOf(before), countOf(after)]
  if (all === undefined || found === undefined) return areMany ? 'are not the same' : 'is not the same'
  if (all !== found) return `are not the same: the archive has ${all}, and ${found} came back`
  return `are not the same: all ${all} came back, but not with the same values`
}

/** How many rows or events there are of what has a number and a sum. */
const countOf = (content: string): string | undefined => /^(\d+) [0-9a-f]{64}$/.exec(content)?.[1]

/** Whether both are lines of structure, and one is what was built from the other. */
function isSameLine(grammar: Grammar, before: string, after: string): boolean {
  const [line, restored] = [toLine(before), toLine(after)]
  return line !== undefined && line.kind === restored?.kind && isBuiltAsSaid(grammar, line, restored)
}

function toLine(content: string): LineOfStructure | undefined {
  if (!content.startsWith('{"kind":')) return undefined
  return JSON.parse(content)
}
