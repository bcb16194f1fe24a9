import { z } from 'zod'

/** What a client can rely on: text of any kind, since a newer server may know more kinds than this version. */
export type FromServer<T> = T extends string
  ? string
  : T extends readonly (infer E)[]
    ? readonly FromServer<E>[]
    : T extends object
      ? { readonly [K in keyof T]: FromServer<T[K]> }
      : T

/** What servers of earlier versions do not send, and what it counts as where it is missing. */
const sinceFirst = new WeakMap<z.core.$ZodType, unknown>()

/** Says that servers of earlier versions do not send a field of an answer. @param missing what it counts as there. */
export function added<S extends z.ZodType>(schema: S, missing: z.output<S>): S {
  sinceFirst.set(schema, missing)
  return schema
}

/**
 * The schema by which a client reads an answer, where a server of another version may have sent it: fields that are not
 * known are left out, and values of text are not checked.
 */
export const fromServer = <S extends z.ZodType>(schema: S): z.ZodType<FromServer<z.output<S>>> =>
  tolerant(schema) as z.ZodType<FromServer<z.output<S>>>

function tolerant(schema: z.core.$ZodType): z.ZodType {
  const read = tolerantType(schema)
  return sinceFirst.has(schema) ? read.default(sinceFirst.get(schema)) : read
}

function tolerantType(schema: z.core.$ZodType): z.ZodType {
  if (schema instanceof z.ZodObject) {
    const fields = Object.entries<z.core.$ZodType>(schema.shape).map(([name, field]) => [name, tolerant(field)])
    return z.object(Object.fromEntries(fields))
  }
  if (schema instanceof z.ZodArray) return z.array(tolerant(schema.element))
  if (schema instanceof z.ZodUnion) return z.union(schema.options.map(tolerant))
  if (schema instanceof z.ZodNullable) return z.nullable(tolerant(schema.unwrap()))
  if (schema instanceof z.ZodExactOptional) return z.exactOptional(tolerant(schema.unwrap()))
  if (schema instanceof z.ZodOptional) return z.optional(tolerant(schema.unwrap()))
  if (schema instanceof z.ZodNumber) return z.number()
  if (schema instanceof z.ZodBoolean) return z.boolean()
  return schema instanceof z.ZodUnknown ? z.unknown() : z.string()
}
