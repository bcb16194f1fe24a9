import { z } from 'zod'
import { printable } from '../terminal/printable.ts'

/** In what a role of the target is not as the archive says; servers of earlier versions do not say it. */
export const rolesLeftOutSchema = z
  .array(z.object({ role: z.string(), notGiven: z.array(z.string()), notTaken: z.array(z.string()) }))
  .default([])

export type RolesLeftOut = z.output<typeof rolesLeftOutSchema>

/** What an import does not do to the roles of a project, since its token may not. */
export const roleNotes = (project: string, leftOut: RolesLeftOut): readonly string[] =>
  leftOut.flatMap(({ role, notGiven, notTaken }) => {
    const name = `role ${printable(role)} of ${printable(project)}`
    return [
      ...(notGiven.length > 0 ? [`${name} does not get ${toList(notGiven)}: the importing token may not give it`] : []),
      ...(notTaken.length > 0 ? [`${name} keeps ${toList(notTaken)}: the importing token may not take it away`] : []),
    ]
  })

const toList = (permissions: readonly string[]): string => permissions.map(printable).join(', ')
