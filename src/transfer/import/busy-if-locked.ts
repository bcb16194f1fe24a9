import { SQLSTATE, sqlState } from '../../database/sqlstate.ts'
import { AppError } from '../../errors.ts'

/** After how many seconds it is worth trying again. */
const RETRY_SECONDS = 10

/** A lock that was not to be had in time is somebody else's, who is at work on the same stage. */
export const busyIfLocked = (error: unknown): unknown =>
  sqlState(error) === SQLSTATE.lockNotAvailable
    ? new AppError('CONFLICT', 'somebody else is at work on the stage, or on its roles; try again', {
        retryAfterSeconds: RETRY_SECONDS,
      })
    : error
