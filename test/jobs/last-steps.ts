import type { TestDatabase } from '../support/database/database.ts'
import { PAUSE } from '../support/database/pause-point.ts'

/**
 * Puts the pause point into the last steps of jobs, by their request: one that names something that ends with `-last`
 * stops in the last statement before its commit, one with `-commit` in the commit itself, where it can't be undone:
 * from there on, the session doesn't look whether its client is still there.
 */
export async function pauseLastSteps(database: TestDatabase): Promise<void> {
  await database.query(`
    CREATE FUNCTION control.pause() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM ${PAUSE}; RETURN NULL; END $$;
    CREATE FUNCTION control.pause_commit() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM set_config('client_connection_check_interval', '0', true); PERFORM ${PAUSE}; RETURN NULL; END $$;
    CREATE TRIGGER pause_last AFTER UPDATE ON control.job FOR EACH ROW
      WHEN (NEW.status = 'succeeded' AND NEW.request::text LIKE '%-last"%') EXECUTE FUNCTION control.pause();
    CREATE CONSTRAINT TRIGGER pause_commit AFTER UPDATE ON control.job DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
      WHEN (NEW.status = 'succeeded' AND NEW.request::text LIKE '%-commit"%') EXECUTE FUNCTION control.pause_commit();`)
}
