-- Earlier versions took a restore for a proof also where the archive lacked rows, as the result of its job says.
WITH incomplete AS (
  UPDATE control.job SET result = result || '{"lacksRows": true}'
   WHERE jsonb_path_exists(result,
     '$.notExported[*] ? (@.kind == "table" || @.kind == "partitioned table" || @.kind == "foreign table")')
  RETURNING id
), unproven AS (
  UPDATE control.artifact SET proven_at = NULL FROM incomplete WHERE job_id = incomplete.id
)
UPDATE control.schedule_run SET proven_at = NULL FROM incomplete WHERE job_id = incomplete.id;
