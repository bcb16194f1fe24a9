import { z } from 'zod'

/** What Prisma's adapter throws, as it is where a transaction could not be begun or committed. */
const adapterErrorSchema = z.object({
  cause: z.object({
    kind: z.string(),
    originalCode: z.string().optional(),
    originalMessage: z.string().optional(),
  }),
})

/** Prisma's raw queries have one code for every failure; what it was stands here. */
const prismaErrorSchema = z.object({ meta: z.object({ driverAdapterError: adapterErrorSchema }) })

/** What the driver said of a failure that came through Prisma: its kind, and PostgreSQL's code and message. */
export const driverErrorOf = (error: unknown): z.infer<typeof adapterErrorSchema>['cause'] | undefined =>
  (adapterErrorSchema.safeParse(error).data ?? prismaErrorSchema.safeParse(error).data?.meta.driverAdapterError)?.cause
