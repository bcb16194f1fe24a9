import type { FindRoles } from '../../projects/role-names.ts'
import { describedBy } from '../structure/grants/described.ts'
import type { ObjectGrants } from '../structure/grants/grants.ts'
import { readStageGrants, toNotExported } from '../structure/grants/stage-grants.ts'
import { grantsWithoutRoles, policyWithoutRoles, rolesIn } from '../structure/grants/without-roles.ts'
import type { NotExported } from '../structure/lines.ts'
import type { Query } from '../structure/query.ts'
import { type StageStructure, toLines } from '../structure/read-structure.ts'

interface Chosen {
  /** Undefined where they are not asked for. */
  readonly grants: readonly ObjectGrants[] | undefined
  readonly inOrder: StageStructure['inOrder']
  readonly leftOut: readonly NotExported[]
}

/**
 * The rights of a stage and its policies as an archive has them: no login of Wharf's is named there, since it means
 * nothing anywhere else.
 *
 * @param query in the session that reads the stage.
 */
export async function chooseRights(
  findRoles: FindRoles,
  query: Query,
  asked: { readonly structure: StageStructure; readonly schemaName: string; readonly withGrants: boolean },
): Promise<Chosen> {
  const { structure, schemaName, withGrants } = asked
  const lines = toLines(structure)
  const found = await readStageGrants(query, schemaName)
  const { logins } = await findRoles(rolesIn(withGrants ? found : [], lines))
  const reasonAgainst = (role: string) =>
    logins.has(role) ? 'it is a login of Wharf, which no archive has' : undefined
  const ofPolicies: NotExported[] = []
  const inOrder = structure.inOrder.flatMap((object) => {
    const { line, leftOut } = policyWithoutRoles(object.line, reasonAgainst)
    ofPolicies.push(...leftOut)
    return line ? [{ ...object, line }] : []
  })
  if (!withGrants) return { grants: undefined, inOrder, leftOut: [...ofPolicies, ...toNotExported(found)] }
  const { grants, leftOut } = grantsWithoutRoles(
    found.filter(describedBy(lines)).map(withoutOwnerOfSchema),
    reasonAgainst,
  )
  return { grants, inOrder, leftOut: [...ofPolicies, ...leftOut] }
}

/** An archive must not take a stage from its own project. */
const withoutOwnerOfSchema = (object: ObjectGrants): ObjectGrants =>
  object.object === 'schema' ? { ...object, grants: object.grants.filter(({ to }) => to !== 'owner') } : object
