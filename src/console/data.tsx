import { useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { Pager, usePages } from './pages.tsx'
import { SchemaPicture } from './schema-picture.tsx'
import { SearchField } from './search-field.tsx'
import { shown } from './shown.ts'
import type { Overview, Page, Project, TableOverview } from './types.ts'
import { useLive } from './use-live.ts'
import { inNaturalOrder, toRows } from './words.tsx'

const PAUSE_MS = 15_000

/** More tables than this are folded: a hundred would be twelve screens, or on a phone thirty. */
const UNFOLDED = 12

/** The stages that the token knows of. */
export function Data({ client }: { readonly client: Client }) {
  const [search, setSearch] = useState('')
  const pages = usePages(search)
  const { value, failure } = useLive(
    `stages ${search} ${pages.after}`,
    (signal) => {
      const query = new URLSearchParams({ limit: '100', ...pages.query, ...(search && { search }) })
      return client.json<Page<Project>>(`/projects?${query}`, { signal })
    },
    () => undefined,
    true,
  )
  return (
    <>
      <div class="title">
        <h1>Data</h1>
        <SearchField label="Search projects" value={search} onChange={setSearch} />
      </div>
      <p class="quiet">Each project has one stage or more: a state of its data, with tables of its own.</p>
      <Failure text={failure} />
      {value?.items.length === 0 && <p>No project has this in its name.</p>}
      <ul class="rows">
        {value?.items.map(({ slug, stages }) => (
          <li key={slug}>
            <h2>{slug}</h2>
            <span class="actions">
              {stages.map((stage) => (
                <a
                  key={stage.slug}
                  class="button"
                  href={`#/data/${slug}/${stage.slug}`}
                  aria-label={`${slug}, ${stage.slug}`}
                >
                  {stage.slug}
                </a>
              ))}
            </span>
          </li>
        ))}
      </ul>
      <Pager pages={pages} next={value?.next} what="projects" />
    </>
  )
}

interface StageProps {
  readonly client: Client
  readonly project: string
  readonly stage: string
}

/** The tables of a stage, with their columns, and how they refer to each other. */
export function StageData({ client, project, stage }: StageProps) {
  const path = `${project}/${stage}`
  const { value, failure } = useLive(
    `overview of ${path}`,
    (signal) => client.json<Overview>(`/content/${path}`, { signal }),
    () => PAUSE_MS,
  )
  const [search, setSearch] = useState('')
  const tables = value?.tables
    .filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()))
    .toSorted((a, b) => inNaturalOrder(a.name, b.name))
  return (
    <>
      <div class="title">
        <h1>
          {project}, {stage}
        </h1>
        {value && value.tables.length > 0 && <SearchField label="Search tables" value={search} onChange={setSearch} />}
      </div>
      <p>
        <a href={`#/log/${path}`}>Event log</a>
      </p>
      <Failure text={failure} />
      {!value && !failure && <p role="status">Loading the tables …</p>}
      {value?.tables.length === 0 && <p>It has no tables.</p>}
      {tables?.length === 0 && search !== '' && <p>No table has this in its name.</p>}
      {tables && <SchemaPicture path={path} tables={tables} />}
      <div class="tables">
        {tables?.map((table) => (
          <TableCard key={table.name} path={path} table={table} isFolded={tables.length > UNFOLDED} />
        ))}
      </div>
    </>
  )
}

interface TableProps {
  readonly path: string
  readonly table: TableOverview
}

function TableCard({ isFolded, path, table }: TableProps & { readonly isFolded: boolean }) {
  const { name, kind, rows } = table
  const href = `#/data/${path}/${encodeURIComponent(name)}`
  const size = rows.count === null ? kind : `${kind}, ${rows.exact ? '' : 'about '}${toRows(rows.count)}`
  if (isFolded) {
    return (
      <section class="card folded" aria-label={name}>
        <details>
          <summary>
            <h2>{shown(name)}</h2> <span class="quiet">{size}</span>
          </summary>
          <TableFacts path={path} table={table} />
        </details>
        {/* What opens something has no link in it. */}
        <a href={href} aria-label={`Rows of ${shown(name)}`}>
          Rows
        </a>
      </section>
    )
  }
  return (
    <section class="card" aria-label={name}>
      <h2>
        <a href={href}>{shown(name)}</a>
      </h2>
      <p class="quiet">{size}</p>
      <TableFacts path={path} table={table} />
    </section>
  )
}

function TableFacts({ path, table: { comment, columns, primaryKey, relations } }: TableProps) {
  const referring = relations.filter((relation) => relation.kind === 'to one')
  return (
    <>
      {comment && <p>{shown(comment)}</p>}
      <dl>
        {columns.map((column) => (
          <ColumnFacts key={column.name} column={column} isKey={primaryKey.includes(column.name)} />
        ))}
      </dl>
      {referring.map(({ name: key, columns: own, table: other, foreignColumns }) => (
        <p key={key}>
          {shown(own.join(', '))} → <a href={`#/data/${path}/${encodeURIComponent(other)}`}>{shown(other)}</a> (
          {shown(foreignColumns.join(', '))})
        </p>
      ))}
    </>
  )
}

interface ColumnProps {
  readonly column: TableOverview['columns'][number]
  readonly isKey: boolean
}

function ColumnFacts({ column: { name, type, nullable, generated, comment }, isKey }: ColumnProps) {
  const facts = [
    type,
    ...(isKey ? ['key'] : []),
    ...(nullable ? [] : ['not null']),
    ...(generated ? ['generated'] : []),
  ]
  return (
    <>
      <dt>{shown(name)}</dt>
      <dd>{facts.join(', ')}</dd>
      {comment && <dd class="comment quiet">{shown(comment)}</dd>}
    </>
  )
}
