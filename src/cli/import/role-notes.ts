import type { FromServer } from '../../contract/from-server.ts'
import type { RoleLeftOut } from '../../contract/import.ts'
import { printable } from '../terminal/printable.ts'

export type RolesLeftOut = readonly FromServer<RoleLeftOut>[]

/** What an import does not do to the roles of a project, since its token may not, or it would take away others' access. */
export const roleNotes = (project: string, leftOut: RolesLeftOut): readonly string[] =>
  leftOut.flatMap(({ role, notGiven, notTaken }) => {
    const name = `role ${printable(role)} of ${printable(project)}`
    return [
      ...(notGiven.length > 0 ? [`${name} does not get ${toList(notGiven)}: the importing token may not give it`] : []),
      ...(notTaken.length > 0
        ? [`${name} keeps ${toList(notTaken)}: tokens have this role, or the importing one may not take it away`]
        : []),
    ]
  })

const toList = (permissions: readonly string[]): string => permissions.map(printable).join(', ')
