import type { Role } from './types.ts'

/** What a role allows, as people say it. */
export function toWords({ content, system }: Role): string {
  const actions = [
    ...(content.read ? ['read rows'] : []),
    ...(content.write ? ['write rows'] : []),
    ...(content.export ? [`export${system.export ? ' with roles and the event log' : ''}`] : []),
    ...(content.import ? [`import${system.import ? ' with roles and the event log' : ''}`] : []),
    ...(content.structure ? ['change the structure'] : []),
  ]
  return actions.length === 0 ? 'nothing' : actions.join(', ')
}
