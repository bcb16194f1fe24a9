/**
 * Prints the SQL that builds every table of `prisma/schema.prisma` in an empty database: what a new migration has
 * to add is the difference from what the migrations so far build (`test/database/migrations.test.ts` proves that they agree).
 *
 * Usage: npx tsx scripts/schema-sql.ts <connection URL of any database>
 */
import { createLogger } from '../src/logger.ts'
import { schemaSql } from './schema-engine.ts'

const [connectionString] = process.argv.slice(2)
if (!connectionString) throw new Error('usage: schema-sql <connection URL>')
process.stdout.write(await schemaSql(connectionString, createLogger('warn')))
