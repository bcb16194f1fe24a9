import { assertMayWrite, type ContentAccess } from './admission.ts'
import { type Called, type CallQuery, callFunction, planFunction, readFunction } from './call-function.ts'
import type { Source } from './consistent-read.ts'
import { type Answered, freshAnswer, type KeptAnswers, type ReadRequest } from './kept-answers.ts'
import type { ReadingServices } from './read-rows.ts'

/** What a client gets of a function that it has read: rows or values; nothing; or nothing that it does not have. */
export type AnsweredCall =
  | { readonly kind: 'answered'; readonly answered: Answered }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'unchanged' }

/** Functions over HTTP: who may call which, and what is kept of their results. */
export interface FunctionCalls {
  /**
   * Calls a function to read, which writes nothing. What an immutable one gives is kept like rows.
   *
   * @param isKnown whether the client has the answer of the caller's reference already.
   * @throws {AppError} as `readFunction` does.
   */
  readonly readFunction: (
    access: ContentAccess,
    request: ReadRequest,
    query: CallQuery,
    isKnown: boolean,
  ) => Promise<AnsweredCall>
  /** Calls a function that may write, where it is volatile. @throws {AppError} as `callFunction` does; FORBIDDEN and ATTACHED_PROJECT for a volatile one. */
  readonly callFunction: (access: ContentAccess, query: CallQuery) => Promise<Called>
}

export function createFunctionCalls({
  reading,
  servicesFor,
  keptAnswers,
  askWritable,
}: {
  /** Does something where a stage is. */
  readonly reading: <T>(access: ContentAccess, read: (source: Source) => Promise<T>) => () => Promise<T>
  readonly servicesFor: (access: ContentAccess) => ReadingServices
  readonly keptAnswers: KeptAnswers
  /** @throws {AppError} DATABASE_READ_ONLY where the event log takes no writes. */
  readonly askWritable: () => Promise<void>
}): FunctionCalls {
  return {
    async readFunction(access, request, query, isKnown) {
      const services = servicesFor(access)
      const plan = await reading(access, (source) => planFunction(source, query, services))()
      if (isKnown && !plan.unseen) return { kind: 'unchanged' }
      const read = reading(access, (source) => readFunction(source, query, services))
      if (plan.called.result.kind === 'nothing') {
        await read()
        return { kind: 'nothing' }
      }
      const readAnswer = async () => {
        const { answer, unseen } = await read()
        if (!answer) throw new Error('a function that gives something gave nothing')
        return { answer, unseen }
      }
      const isShared = access.isSeen && !plan.unseen
      const answered = await (isShared ? keptAnswers(access, request, readAnswer) : freshAnswer(request, readAnswer))
      return { kind: 'answered', answered }
    },
    async callFunction(access, query) {
      const services = servicesFor(access)
      const call = reading(access, async (source) => {
        const { called } = await planFunction(source, query, services)
        if (called.volatility !== 'volatile') {
          const { answer } = await readFunction(source, query, services)
          return { answer, reference: undefined }
        }
        assertMayWrite(access)
        await askWritable()
        return callFunction(source, query, services)
      })
      return call()
    },
  }
}
