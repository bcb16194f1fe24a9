import { describe, expect, test } from 'vitest'
import { rightsIn } from '../../../src/transfer/import/rights-of-archive.ts'
import { rightsBefore, schemaRights } from '../../../src/transfer/import/stage-rights.ts'
import type { StructureLines } from '../../../src/transfer/structure/create-statements.ts'
import type { Grant, ObjectGrants } from '../../../src/transfer/structure/grants/grants.ts'

const reporting = { role: 'reporting' }
const to = (...privileges: Grant['privileges']): Grant => ({ to: reporting, privileges, grantable: [] })

const LINES: StructureLines = {
  extensions: [],
  sequences: [],
  inOrder: [{ kind: 'table', content: { name: 't', columns: [{ name: 'c', type: 'integer', nullable: true }] } }],
}

describe('rights that a stage gets of an archive', () => {
  const onTable: ObjectGrants = { object: 'table', name: 't', grants: [to('SELECT', 'MAINTAIN')] }

  test('are all that it has objects for, where its PostgreSQL knows them', () => {
    const onColumn: ObjectGrants = { object: 'table', name: 't', column: 'c', grants: [to('SELECT')] }
    const onSchema: ObjectGrants = { object: 'schema', grants: [to('USAGE')] }
    const later: ObjectGrants = { object: 'new tables', grants: [to('SELECT')] }
    const all = [onTable, onColumn, onSchema, later]
    expect(rightsIn(LINES, all, 17)).toEqual({ grants: all, leftOut: [] })
  })

  test('lack MAINTAIN before version 17, also where it could be passed on, and that is named', () => {
    const grants: ObjectGrants = {
      ...onTable,
      grants: [to('SELECT', 'MAINTAIN'), { to: 'owner', privileges: [], grantable: ['MAINTAIN'] }],
    }
    expect(rightsIn(LINES, [grants], 16)).toEqual({
      grants: [{ ...grants, grants: [to('SELECT'), { to: 'owner', privileges: [], grantable: [] }] }],
      leftOut: [{ kind: 'grant', name: 't', detail: 'MAINTAIN: PostgreSQL 16 does not know it' }],
    })
  })

  test.each<[ObjectGrants, string, string]>([
    [{ object: 'table', name: 'u', grants: [to('MAINTAIN')] }, 'u', 'the stage has no such table'],
    [{ object: 'table', name: 't', column: 'd', grants: [to('SELECT')] }, 't.d', 'the stage has no such column'],
    [{ object: 'sequence', name: 't', grants: [to('USAGE')] }, 't', 'the stage has no such sequence'],
    [{ object: 'function', name: 't', arguments: '', grants: [] }, 't()', 'the stage has no such function'],
  ])('are left out once where there is no such object: %j', (object, name, detail) => {
    expect(rightsIn(LINES, [object], 16)).toEqual({ grants: [], leftOut: [{ kind: 'grant', name, detail }] })
  })
})

describe('the statements for the rights of a stage', () => {
  const grants: readonly ObjectGrants[] = [
    { object: 'schema', grants: [to('USAGE'), { to: 'public', privileges: ['USAGE'], grantable: [] }] },
    { object: 'table', name: 't', grants: [to('SELECT')] },
    { object: 'new tables', grants: [{ to: reporting, privileges: [], grantable: ['SELECT'] }] },
  ]

  test('that come first say what later objects have, unless all rights are known', () => {
    expect(rightsBefore({ grants, isAll: true }, 'login', 's')).toEqual([])
    expect(rightsBefore({ grants, isAll: false }, 'login', 'a "b"')).toEqual([
      'ALTER DEFAULT PRIVILEGES IN SCHEMA "a ""b""" GRANT SELECT ON TABLES TO "reporting" WITH GRANT OPTION',
    ])
  })

  test('on its schema give the owner back what it had, and are none where nobody else has any', () => {
    expect(schemaRights(grants.slice(1), 'login', '"s"')).toEqual([])
    expect(schemaRights(grants, 'login', '"s"')).toEqual([
      'REVOKE ALL ON SCHEMA "s" FROM "login"',
      'GRANT ALL ON SCHEMA "s" TO "login"',
      'GRANT USAGE ON SCHEMA "s" TO "reporting"',
      'GRANT USAGE ON SCHEMA "s" TO PUBLIC',
    ])
  })
})
