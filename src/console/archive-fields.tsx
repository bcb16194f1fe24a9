import type { Client } from './client.ts'
import { KeepPreview } from './keep-preview.tsx'

/** What is picked of the archives that a schedule makes. */
export interface ArchiveRules {
  readonly keepLast: string
  readonly keepDays: string
  readonly maxAgeHours: string
  readonly verify: boolean
}

interface ArchiveFieldsProps {
  readonly client: Client
  /** Of the schedule that is changed; undefined for a new one. */
  readonly scheduleId: string | undefined
  readonly rules: ArchiveRules
  readonly set: (changed: Partial<ArchiveRules>) => void
}

/** What becomes of the archives of a schedule. */
export function ArchiveFields({ client, scheduleId, rules, set }: ArchiveFieldsProps) {
  return (
    <>
      <NumberField
        id="keep-last"
        label="Archives to keep (empty: all)"
        max="10000"
        value={rules.keepLast}
        onChange={(keepLast) => set({ keepLast })}
      />
      <NumberField
        id="keep-days"
        label="Also keep all that are younger than this many days (empty: none)"
        max="36500"
        value={rules.keepDays}
        onChange={(keepDays) => set({ keepDays })}
      />
      {scheduleId !== undefined && <KeepPreview client={client} scheduleId={scheduleId} keep={keepOf(rules)} />}
      <NumberField
        id="max-age"
        label="Overdue after this many hours without a new archive (empty: never)"
        max="87600"
        value={rules.maxAgeHours}
        onChange={(maxAgeHours) => set({ maxAgeHours })}
      />
      <label>
        <input
          type="checkbox"
          checked={rules.verify}
          onChange={(event) => set({ verify: event.currentTarget.checked })}
        />
        Prove each archive: restore it where it disturbs nobody, and compare
      </label>
    </>
  )
}

/** The rules as they are sent. */
export const keepOf = ({ keepLast, keepDays }: Pick<ArchiveRules, 'keepLast' | 'keepDays'>) => ({
  ...(keepLast !== '' && { last: Number(keepLast) }),
  ...(keepDays !== '' && { days: Number(keepDays) }),
})

interface NumberFieldProps {
  readonly id: string
  readonly label: string
  readonly max: string
  readonly value: string
  readonly onChange: (value: string) => void
}

const NumberField = ({ id, label, max, value, onChange }: NumberFieldProps) => (
  <>
    <label for={id}>{label}</label>
    <input
      id={id}
      type="number"
      min="1"
      max={max}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  </>
)
