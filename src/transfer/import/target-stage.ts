import { lacksRows } from '../../contract/completeness.ts'
import type { Database } from '../../database/database.ts'
import { type FindRoles, readExternalRoles } from '../../projects/role-names.ts'
import type { StructureLines } from '../structure/create-statements.ts'
import { type LeftOut, leftOutGrant } from '../structure/grants/without-roles.ts'
import { type StageStructure, toLines } from '../structure/read-structure.ts'
import type { ArchiveStage } from './archive-lists.ts'
import { type CurrentStage, isEmpty, readCurrentStage, type StageOfProject } from './current-stage.ts'
import { type KnownRights, knownRights, rightsIn } from './rights-of-archive.ts'
import { withPositions } from './sequence-positions.ts'
import type { StageIdentity } from './shadow-schemas.ts'
import type { StageRights } from './stage-rights.ts'
import { whatIsExchanged, whyInPlace, whyNot, whyNotBeside } from './why-in-place.ts'

/** How a stage's rows come into it. */
export type LoadingMode =
  /** The stage is empty: it is built from the archive's structure lines, beside, and swapped in. */
  | 'build'
  /** The stage is rebuilt from its own structure, beside, and swapped in. */
  | 'swap'
  /**
   * The stage has what structure lines can't describe, or something outside of it hangs on its tables: they are
   * emptied and loaded where they are.
   */
  | 'in place'

export const identityOf = ({ stage, login }: StageOfProject): StageIdentity => ({
  stageId: stage.id,
  schemaName: stage.schemaName,
  login,
})

export interface TargetStage extends StageOfProject {
  /** What comes. */
  readonly archived: ArchiveStage
  readonly mode: LoadingMode
  /** Why it is loaded in place, where it is, in words. */
  readonly reasonsInPlace: readonly string[]
  /**
   * What takes the place of what where it is loaded beside: one schema of the other, or, where the schema is not the login's to
   * rename, each object of the one that was.
   */
  readonly exchanged: 'schemas' | 'objects'
  /** What the stage is after the import; for `build` the archive's structure, else its own. */
  readonly structure: StructureLines
  readonly comment: string | undefined
  /** Who may do what in it after the import; in place, the rights stay as they are. */
  readonly rights: StageRights
  /** What tells whether rights in the stage were changed since it was looked at. */
  readonly rightsState: string
  /** The same of its structure, where it is not in Wharf's own database. */
  readonly structureState: string
  /** Rights and policies of the archive that it does not get. */
  readonly leftOut: readonly LeftOut[]
  /** What keeps its rows, since no archive can hold them. */
  readonly notReplaced: StageStructure['notExported']
  /** What keeps the archive from being loaded as the mode says, in words. */
  readonly reasonsAgainst: readonly string[]
  /** Rows in the tables now, by table; empty where nobody asked for them. */
  readonly rowsNow: ReadonlyMap<string, number>
}

/** What decides about what is loaded, besides the archive. */
export const outcomeOf = (target: TargetStage): readonly unknown[] => [
  identityOf(target),
  target.mode,
  target.structure,
  target.comment,
  target.rights,
]

/**
 * Looks at a stage as it is.
 *
 * @param options `findRoles`: looks roles and logins of Wharf's own server up; `countRows`: whether to count the rows that there
 *   are now, which reads every table.
 */
export async function examineStage(
  of: StageOfProject,
  archived: ArchiveStage,
  { findRoles, countRows }: { readonly findRoles: FindRoles; readonly countRows: boolean },
): Promise<TargetStage> {
  const current = await readCurrentStage(of, countRows)
  const { rows: rowsNow, rightsState, structureState, ...found } = current
  const coming = await knownRights(of.isOwn ? findRoles : findRolesIn(of.database), archived)
  return { ...of, archived, rowsNow, rightsState, structureState, ...whatBecomesOf(of, archived, coming, found) }
}

const findRolesIn =
  ({ prisma }: Database): FindRoles =>
  (names) =>
    readExternalRoles((sql, parameters) => prisma.$queryRawUnsafe(sql, ...parameters), names)

type Becomes = Omit<TargetStage, keyof StageOfProject | 'archived' | 'rowsNow' | 'rightsState' | 'structureState'>

function whatBecomesOf(
  of: StageOfProject,
  archived: ArchiveStage,
  coming: KnownRights,
  current: Omit<CurrentStage, 'rows' | 'rightsState' | 'structureState'>,
): Becomes {
  const { structure, grants, version } = current
  const { notExported, comment } = structure
  const exchanged = whatIsExchanged(current)
  if (isEmpty(structure)) {
    const given = coming.grants && rightsIn(coming.structure, coming.grants, version)
    const rights = given ? { grants: given.grants, isAll: true } : { grants, isAll: false }
    const leftOut = [...coming.leftOut, ...(given?.leftOut ?? [])]
    const { comment: comingComment = comment } = archived
    const built = { structure: coming.structure, comment: comingComment, rights, leftOut }
    return {
      mode: 'build',
      reasonsInPlace: [],
      exchanged,
      ...built,
      notReplaced: [],
      reasonsAgainst: whyNotBeside(of, current),
    }
  }
  const reasonsInPlace = whyInPlace(of, current)
  const isInPlace = reasonsInPlace.length > 0
  return {
    ...rightsOver(structure, coming, { grants, version, isInPlace }),
    reasonsAgainst: whyNot(current),
    mode: isInPlace ? 'in place' : 'swap',
    reasonsInPlace,
    exchanged,
    notReplaced: notExported.filter(lacksRows),
    structure: withPositions(toLines(structure), archived.structure),
    comment,
  }
}

/** What becomes of the rights on a stage that is not empty; its own policies stay. */
function rightsOver(
  structure: StageStructure,
  coming: KnownRights,
  now: Pick<CurrentStage, 'grants' | 'version'> & { readonly isInPlace: boolean },
): Pick<TargetStage, 'rights' | 'leftOut'> {
  const ofRights = coming.leftOut.filter(({ kind }) => kind === 'grant')
  if (coming.grants === undefined) return { rights: { grants: now.grants, isAll: true }, leftOut: [] }
  if (now.isInPlace) {
    const leftOut = coming.grants.map((object) =>
      leftOutGrant(object, 'the stage is loaded in place, and keeps its rights'),
    )
    return { rights: { grants: now.grants, isAll: true }, leftOut: [...ofRights, ...leftOut] }
  }
  const given = rightsIn(toLines(structure), coming.grants, now.version)
  return { rights: { grants: given.grants, isAll: true }, leftOut: [...ofRights, ...given.leftOut] }
}
