import { defineConfig } from 'prisma/config'

// Generating the client needs no schema engine, but Prisma downloads one before it generates
// anything unless a file is named here. Any file that exists will do.
if (process.argv.includes('generate')) process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath

export default defineConfig({ schema: 'prisma/schema.prisma' })
