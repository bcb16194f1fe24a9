import type { Transaction } from '../database/database.ts'

/** A stage that a job has imported. */
interface ImportedStage {
  readonly jobId: string
  /** Slugs. */
  readonly project: string
  readonly stage: string
}

/**
 * Writes into the result of a job that what it imported into a stage is undone now, or is put back. Where the job is not there
 * any more, does nothing.
 */
export async function noteUndone(
  tx: Transaction,
  { jobId, project, stage }: ImportedStage,
  undone: boolean,
): Promise<void> {
  await tx.$executeRaw`
    UPDATE control.job
       SET revision = revision + 1, result = jsonb_set(result, '{projects}', (
             SELECT coalesce(jsonb_agg(
                      CASE WHEN project->>'targetSlug' <> ${project} THEN project
                      ELSE jsonb_set(project, '{stages}', (
                             SELECT jsonb_agg(CASE WHEN stage->>'slug' <> ${stage} THEN stage
                                                   WHEN ${undone} THEN stage || jsonb_build_object('undoneAt', now_text)
                                                   ELSE stage - 'undoneAt' END ORDER BY stage_number)
                               FROM jsonb_array_elements(project->'stages') WITH ORDINALITY AS stages (stage, stage_number)))
                      END ORDER BY project_number), '[]')
               FROM jsonb_array_elements(result->'projects') WITH ORDINALITY AS projects (project, project_number)))
      FROM (SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS now_text) AS clock
     WHERE id = ${jobId}::uuid AND status = 'succeeded' AND jsonb_typeof(result->'projects') = 'array'`
}
