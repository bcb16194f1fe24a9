/** A type as the catalogs have it. */
export interface CatalogType {
  /** As SQL names it, without modifiers: `integer`, `text[]`, `ship_kind`. */
  readonly name: string
  /** The same for SQL text: qualified and quoted, e.g. `"pg_catalog"."int4"`. */
  readonly sql: string
  /** Of an array of such values; null where there is none. */
  readonly arraySql: string | null
  /** `pg_type.typtype` of what is under a domain: `b`ase, `c`omposite, `e`num, `r`ange, `m`ultirange, `p`seudo. */
  readonly kind: string
  /** `pg_type.typcategory` of what is under a domain: `A`rray, `B`oolean, `N`umeric, `S`tring, ... */
  readonly category: string
  /** The type under a domain, else the type itself: what a value is compared as. Quoted like `sql`. */
  readonly baseSql: string
  /** Like `arraySql`, of the type under a domain. */
  readonly baseArraySql: string | null
  /** `pg_type.typname` of the type under a domain, e.g. `jsonb`; null for a type that the project made. */
  readonly builtIn: string | null
  /** How values of a domain are written and read, where the project has made casts for that. */
  readonly representation: Representation
}

/** A function that the project made. */
export interface ProjectFunction {
  /** Its name for SQL text, qualified and quoted. */
  readonly sql: string
  /** Whether it may give another result each time, as its declaration says. */
  readonly volatile: boolean
}

/**
 * Casts of a domain: what its values are in JSON, and how texts in filters and values in bodies are read.
 *
 * @see https://docs.postgrest.org/en/stable/references/api/domain_representations.html
 */
export interface Representation {
  readonly toJson?: ProjectFunction
  readonly fromJson?: ProjectFunction
  readonly fromText?: ProjectFunction
}

export interface CatalogColumn {
  readonly name: string
  readonly type: CatalogType
  /** As `format_type` prints it, with modifiers: `numeric(10,2)`. */
  readonly declaredType: string
  readonly nullable: boolean
  readonly hasDefault: boolean
  readonly generated: boolean
  readonly identity: 'always' | 'by default' | null
  readonly comment: string | null
}

/** A function of a table's row, which queries may name like a column. */
export interface ComputedColumn extends ProjectFunction {
  readonly name: string
  readonly type: CatalogType
}

/** What a table is; ordinary ones may be partitioned. */
export type RelationKind = 'table' | 'view' | 'materialized view' | 'foreign table'

export interface CatalogTable {
  readonly name: string
  readonly kind: RelationKind
  readonly comment: string | null
  /** Whether its rows change without an event of the stage's log, see `unseenRelations`. */
  readonly unseen: boolean
  /** What can be done to its rows: everything to a table's, to a view's what PostgreSQL and INSTEAD OF triggers can do. */
  readonly writable: ReadonlySet<WriteKind>
  /** By name, in their order. */
  readonly columns: ReadonlyMap<string, CatalogColumn>
  readonly computed: ReadonlyMap<string, ComputedColumn>
  /** Names of the key's columns; empty where there is none. Of a view, those of a table's key that it shows. */
  readonly primaryKey: readonly string[]
  /** Columns of each unique key or index (whole, immediate ones, without expressions), the primary key included. */
  readonly uniqueKeys: readonly (readonly string[])[]
}

export type WriteKind = 'insert' | 'update' | 'delete'

/** A foreign key between two tables of the stage. */
export interface ForeignKey {
  readonly name: string
  readonly table: string
  readonly columns: readonly string[]
  readonly foreignTable: string
  /** In the order of `columns`. */
  readonly foreignColumns: readonly string[]
}

/** An argument that a caller gives. */
export interface FunctionArgument {
  /** Empty where it has none. */
  readonly name: string
  /** Of a variadic one, the array's. */
  readonly type: CatalogType
  /** Whether there is a default. */
  readonly optional: boolean
  readonly variadic: boolean
}

/** A function that can be called over HTTP. */
export interface CatalogFunction {
  readonly name: string
  readonly volatility: 'immutable' | 'stable' | 'volatile'
  readonly arguments: readonly FunctionArgument[]
  /** Whether it gives any number of results. */
  readonly set: boolean
  /**
   * What one result is: nothing, a value, or a row. A row is one of a table, or has columns of its own; then this is a table of the function's name
   * with no keys.
   */
  readonly result:
    | { readonly kind: 'nothing' }
    | { readonly kind: 'value'; readonly type: CatalogType }
    | { readonly kind: 'row'; readonly table: CatalogTable }
}

/** How rows of two tables belong together, views included. */
export interface CatalogRelation {
  /** That of the foreign key. */
  readonly name: string
  /** From here at most one row is referred to. */
  readonly table: string
  readonly columns: readonly string[]
  readonly foreignTable: string
  /** In the order of `columns`. */
  readonly foreignColumns: readonly string[]
  /** Whether at most one row refers to each. */
  readonly unique: boolean
}

/** A function that gives the rows of a table that belong to the row of another. */
export interface ComputedRelation extends ProjectFunction {
  readonly name: string
  readonly table: string
  readonly foreignTable: string
  readonly toOne: boolean
}

/** An aggregate that makes an answer of rows, in a media type of the project's own. */
export interface MediaAggregate extends ProjectFunction {
  /** The name of the domain that it gives, in lower case. */
  readonly mediaType: string
  /** The table whose rows it takes; null where it takes any. */
  readonly table: string | null
  /** Whether it gives bytes, and not text. */
  readonly givesBytes: boolean
}

/** A stage's tables and functions as the query dialect sees them, at one moment. */
export interface StageCatalog {
  readonly schemaName: string
  readonly tables: ReadonlyMap<string, CatalogTable>
  /** Those that can be called, by name; several of one name differ in their arguments. */
  readonly functions: ReadonlyMap<string, readonly CatalogFunction[]>
  /** Those between two tables of the stage. */
  readonly foreignKeys: readonly ForeignKey[]
  /** Whether anything that a query may name is unseen. */
  readonly hasUnseen: boolean
  /** By which relations are found: foreign keys, and what views show of them. */
  readonly relations: readonly CatalogRelation[]
  readonly computedRelations: readonly ComputedRelation[]
  /** What a cast may name, by `name` and by the catalogs' own names (`int4`). */
  readonly castTypes: ReadonlyMap<string, CatalogType>
  readonly mediaAggregates: readonly MediaAggregate[]
  /** PostGIS's function that writes a row as a feature, for SQL text; null where the database does not have PostGIS. */
  readonly toFeature: string | null
}
