/** The schema that has the event log in a database that is not Wharf's. */
export const LOG_SCHEMA = 'wharf_log'

/** What begins the names of the triggers that keep it; the kind of event follows. */
export const TRIGGER_PREFIX = 'wharf_log_'
