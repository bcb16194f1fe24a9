import type { TestDatabase } from '../support/database/database.ts'
import { GATE } from '../support/database/pause-point.ts'

/**
 * Puts the gate into the last steps of jobs, by what their request says: one that names something that ends with `-last`
 * stops in the last statement before its commit, one with `-commit` in the commit itself, where it can't be undone: a
 * session that starts from now on doesn't look whether its client is still there.
 */
export async function gateLastSteps(database: TestDatabase): Promise<void> {
  await database.query(`
    DO $$ BEGIN
      EXECUTE format('ALTER DATABASE %I SET client_connection_check_interval = 0', current_database());
    END $$;
    CREATE FUNCTION control.pass_gate() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM ${GATE}; RETURN NULL; END $$;
    CREATE TRIGGER gate_last AFTER UPDATE ON control.job FOR EACH ROW
      WHEN (NEW.status = 'succeeded' AND NEW.request::text LIKE '%-last"%') EXECUTE FUNCTION control.pass_gate();
    CREATE CONSTRAINT TRIGGER gate_commit AFTER UPDATE ON control.job DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
      WHEN (NEW.status = 'succeeded' AND NEW.request::text LIKE '%-commit"%') EXECUTE FUNCTION control.pass_gate();`)
}
