import { isAppError } from '../../errors.ts'
import { type CurrentStage, isEmpty, readCurrentStage, type StageOfProject } from './current-stage.ts'
import { canRecord } from './external/committed-imports.ts'
import { reasonsAgainstBeside } from './external/schema-rights.ts'

/** How many reasons are given for loading a stage in place. */
const MAX_REASONS = 20

type NamedStage = Pick<StageOfProject, 'stage' | 'login'>

/**
 * What takes the place of what where a stage is loaded beside: one schema of the other, or, where the schema is not the
 * login's to rename, each object of the one that was.
 */
export const whatIsExchanged = ({
  structure: { extensionsInside },
  schemaRights,
}: Pick<CurrentStage, 'structure' | 'schemaRights'>): 'schemas' | 'objects' =>
  !schemaRights || (schemaRights.renamed && extensionsInside.length === 0) ? 'schemas' : 'objects'

/** Why nothing can be made beside a stage, in words; none where something can. */
export function whyNotBeside(
  { stage: { schemaName }, login }: NamedStage,
  { schemaRights, schemaOwner }: Pick<CurrentStage, 'schemaRights' | 'schemaOwner'>,
): readonly string[] {
  if (schemaRights) return reasonsAgainstBeside({ login, schemaName }, schemaRights)
  if (schemaOwner === undefined) return []
  return [`its schema belongs to ${schemaOwner}, so nothing can be built in its place`]
}

/** Why a stage that is not empty is loaded in place, in words; none where it is not. */
export function whyInPlace(
  of: NamedStage,
  current: Pick<CurrentStage, 'structure' | 'outsideUsers' | 'schemaRights' | 'schemaOwner'>,
): readonly string[] {
  const { structure, outsideUsers, schemaRights } = current
  const { notExported, extensionsInside } = structure
  // An extension in the schema would go with it.
  const keepsSchema = !schemaRights && extensionsInside.length > 0
  // What comes with a range type belongs to PostgreSQL, and stays where it was made.
  const keepsRanges =
    whatIsExchanged(current) === 'objects' && structure.inOrder.some(({ line }) => line.kind === 'range')
  return [
    ...outsideUsers.map((user) => `${user} is outside of it, and depends on it`),
    ...notExported.map(({ kind, name, detail = '' }) => `${kind} ${name} ${detail}`.trimEnd()),
    ...whyNotBeside(of, current),
    ...(schemaRights?.publications ?? []).map((name) => `publication ${name} would send what is loaded beside`),
    ...(keepsSchema ? extensionsInside.map((name) => `the extension ${name} is in its schema`) : []),
    ...(keepsRanges ? ['it has range types, which cannot be moved'] : []),
  ].slice(0, MAX_REASONS)
}

/** Why no archive can be loaded into a stage that is not empty, in words. */
export const whyNot = ({
  structure: { notExported },
  ofOthers,
}: Pick<CurrentStage, 'structure' | 'ofOthers'>): readonly string[] => [
  // Its values would have been left out if an archive could say how they are made.
  ...notExported
    .filter(({ kind }) => kind === 'generated column')
    .map(({ name }) => `column ${name} is generated, so it does not take the values of the archive`),
  ...ofOthers.map(({ name, detail }) => `table "${name}" ${detail}, so the project's own login cannot load it`),
]

/** Why an import could not write down there that it was committed, so that it is refused. */
const whyNotRecorded = ({ database }: Pick<StageOfProject, 'database'>): Promise<readonly string[]> =>
  canRecord(database).then(
    () => [],
    (error: unknown) => {
      if (!isAppError(error, 'CONFLICT')) throw error
      return [error.message]
    },
  )

/** How an import would come into a stage that is in a database which is not Wharf's, and why not in a better way. */
export async function readImportWay(of: Omit<StageOfProject, 'project'>): Promise<{
  readonly way: 'beside' | 'object by object' | 'in place' | 'no'
  readonly reasons: readonly string[]
}> {
  const current = await readCurrentStage(of, false)
  const beside = whatIsExchanged(current) === 'schemas' ? 'beside' : 'object by object'
  const isBuilt = isEmpty(current.structure)
  const against = [...(isBuilt ? whyNotBeside(of, current) : whyNot(current)), ...(await whyNotRecorded(of))]
  if (against.length > 0) return { way: 'no', reasons: against }
  const reasons = isBuilt ? [] : whyInPlace(of, current)
  return { way: reasons.length > 0 ? 'in place' : beside, reasons }
}
