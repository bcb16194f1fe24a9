import { z } from 'zod'

export type RowValue = string | number | boolean | null

const rowsSchema = z.object({ rows: z.object({ table: z.string(), columns: z.array(z.string()) }) })
/** Values are not looked into, since there may be hundreds of thousands of rows. */
const rowSchema = z.object({ row: z.custom<RowValue[]>(Array.isArray) })
const rowsEndSchema = z.object({ rowsEnd: z.object({ table: z.string(), rows: z.number(), sha256: z.string() }) })
const projectSchema = z.object({ project: z.object({ slug: z.string() }) })
const stageSchema = z.object({ stage: z.object({ slug: z.string() }) })

/** A table of an archive, read without any of the program's own code. */
export interface ArchivedTable {
  /** `project/stage/table` */
  readonly path: string
  readonly name: string
  readonly columns: readonly string[]
  /** Its row lines, newlines included. */
  readonly lines: readonly string[]
  readonly rows: readonly (readonly RowValue[])[]
  /** As its end says. */
  readonly count: number
  readonly sha256: string
}

/** An archive's lines, each with its newline. */
export const linesOf = (archive: string): string[] => archive.split(/(?<=\n)/)

/** The tables of an archive whose every line is parsed by itself. */
export function tablesOf(archive: string): ArchivedTable[] {
  const tables: ArchivedTable[] = []
  const current = { project: '', stage: '' }
  let columns: readonly string[] = []
  let lines: string[] = []
  let rows: RowValue[][] = []
  for (const line of linesOf(archive)) {
    const content: unknown = JSON.parse(line)
    switch (/^\{"(\w+)":/.exec(line)?.[1]) {
      case 'project':
        current.project = projectSchema.parse(content).project.slug
        break
      case 'stage':
        current.stage = stageSchema.parse(content).stage.slug
        break
      case 'rows':
        columns = rowsSchema.parse(content).rows.columns
        lines = []
        rows = []
        break
      case 'row':
        lines.push(line)
        rows.push(rowSchema.parse(content).row)
        break
      case 'rowsEnd': {
        const { table: name, rows: count, sha256 } = rowsEndSchema.parse(content).rowsEnd
        tables.push({ path: `${current.project}/${current.stage}/${name}`, name, columns, lines, rows, count, sha256 })
      }
    }
  }
  return tables
}
