/**
 * Forgets the variables of PostgreSQL's own programs (`PGOPTIONS`, `PGSSLMODE`, ...), which every connection of this
 * process would use: where the database is Wharf's own, they are meant for some other one.
 */
export function forgetPostgresVariables(environment: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(environment)) {
    if (/^PG[A-Z]/.test(name)) delete environment[name]
  }
}
