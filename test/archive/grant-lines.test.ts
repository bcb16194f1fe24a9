import { expect, test } from 'vitest'
import { toEntry } from '../../src/archive/lines.ts'

const select = { to: { role: 'reporting' }, privileges: ['SELECT'] }

test.each([
  { object: 'schema', grants: [{ to: { role: 'reporting' }, grantable: ['USAGE', 'CREATE'] }] },
  { object: 'table', name: 't', grants: [{ to: 'owner' }, { to: 'public', privileges: ['INSERT'] }, select] },
  { object: 'table', name: 't', column: 'c', grants: [select] },
  { object: 'function', name: 'f', arguments: '', grants: [] },
  { object: 'new sequences', grants: [{ to: 'public', privileges: ['USAGE'] }] },
])('a line of rights may be %j', (content) => {
  expect(toEntry('grants', content)).toMatchObject({ success: true })
})

test.each([
  { object: 'database', grants: [] },
  { object: 'role', name: 'pg_read_all_data', grants: [select] },
  { object: 'schema', name: 'public', grants: [] },
  { object: 'schema', grants: [{ to: 'owner', privileges: [] }] },
  { object: 'schema', grants: [select] },
  { object: 'table', grants: [select] },
  { object: 'table', name: 't', arguments: 'integer', grants: [select] },
  { object: 'table', name: 't', column: 'c', grants: [{ to: 'public', privileges: ['TRIGGER'] }] },
  { object: 'table', name: 't', grants: [{ to: 'public', grantable: ['SELECT'] }] },
  { object: 'table', name: 't', grants: [{ to: 'reporting', privileges: ['SELECT'] }] },
  { object: 'table', name: 't', grants: [{ to: 'public', privileges: ['SELECT ON t TO x; --'] }] },
  { object: 'table', name: 't', grants: [{ to: { role: 'r'.repeat(64) }, privileges: ['SELECT'] }] },
  { object: 'sequence', name: 's', column: 'c', grants: [] },
  { object: 'function', name: 'f', grants: [] },
  { object: 'new tables', name: 't', grants: [select] },
  { object: 'new types', grants: [select] },
])('a line of rights cannot be %j', (content) => {
  expect(toEntry('grants', content)).toMatchObject({ success: false })
})

test('a policy for no role cannot be', () => {
  const policy = { name: 'p', table: 't', definition: 'CREATE POLICY p ON t' }
  expect(toEntry('policy', policy)).toMatchObject({ success: true })
  expect(toEntry('policy', { ...policy, roles: ['owner', { role: 'r' }] })).toMatchObject({ success: true })
  expect(toEntry('policy', { ...policy, roles: [] })).toMatchObject({ success: false })
  expect(toEntry('policy', { ...policy, roles: ['public'] })).toMatchObject({ success: false })
})
