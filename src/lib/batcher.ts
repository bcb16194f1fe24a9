/** Asks something, and shares the query with others who ask at the same time. */
export type Ask<Question, Answer> = (key: string, question: Question) => Promise<Answer>

/** Answers all questions of a batch; a key that is left out is answered with undefined. */
type Read<Question, Answer> = (questions: ReadonlyMap<string, Question>) => Promise<ReadonlyMap<string, Answer>>

type Outcome<Answer> = { readonly answer: Answer | undefined } | { readonly failure: unknown }

interface Batch<Question, Answer> {
  readonly questions: Map<string, Question>
  readonly outcomes: Promise<ReadonlyMap<string, Outcome<Answer>>>
  readonly start: () => void
}

export interface BatcherOptions {
  /**
   * Whether a failure is the fault of a single question. The others are then asked without it: the batch is read again in
   * halves, until that question is alone with its failure.
   */
  readonly isOfOneQuestion?: (failure: unknown) => boolean
  /** Starts the next batch after one has ended: later, where it is worth waiting for more questions. */
  readonly gather?: (start: () => void) => void
  /** How many run at most. One does, unless it takes long. */
  readonly mostRunning?: number
}

/** A batch that runs for so long, in milliseconds, is not waited for by the next one: what answers is busy. */
const LONG_MS = 10

/**
 * Shares tiny reads between those who need one at the same time, without anybody getting an old answer: a question
 * joins the next batch to start, never the one under way, which may have read already. So what an answer says was
 * true at a moment after its question was put.
 *
 * At most one batch waits.
 *
 * @param read answers a batch; questions with one key are the same question. What it throws, each question of the batch
 * gets, unless `isOfOneQuestion` says otherwise.
 */
export function createBatcher<Question, Answer>(
  read: Read<Question, Answer>,
  { isOfOneQuestion = () => false, gather = setImmediate, mostRunning = 1 }: BatcherOptions = {},
): Ask<Question, Answer | undefined> {
  let waiting: Batch<Question, Answer> | undefined
  /** How many run, or are about to. */
  let running = 0
  /** Whether one is about to that has not taken the batch that waits. */
  let isStarting = false
  let startedAtMs = 0

  const startNext = (): void => {
    isStarting = false
    const batch = waiting
    waiting = undefined
    if (!batch) {
      running -= 1
      return
    }
    startedAtMs = performance.now()
    batch.start()
  }

  const mayStart = (): boolean => running === 0 || (running < mostRunning && performance.now() - startedAtMs >= LONG_MS)

  const open = (): Batch<Question, Answer> => {
    const questions = new Map<string, Question>()
    let start: () => void = () => undefined
    const outcomes = new Promise<void>((resolve) => {
      start = resolve
    })
      .then(() => readApart(read, isOfOneQuestion, questions))
      // Not at once: what has arrived in the meantime, and is not parsed yet, comes along with the next one.
      .finally(() => gather(startNext))
    // One who waits handles a failure; a batch without anybody who still does must not end the process.
    outcomes.catch(() => undefined)
    return { questions, outcomes, start }
  }

  return async (key, question) => {
    waiting ??= open()
    if (!isStarting && mayStart()) {
      running += 1
      isStarting = true
      // Not at once, so that all requests that have arrived already come along.
      setImmediate(startNext)
    }
    const { questions, outcomes } = waiting
    questions.set(key, question)
    const outcome = (await outcomes).get(key)
    if (outcome && 'failure' in outcome) throw outcome.failure
    return outcome?.answer
  }
}

async function readApart<Question, Answer>(
  read: Read<Question, Answer>,
  isOfOneQuestion: (failure: unknown) => boolean,
  questions: ReadonlyMap<string, Question>,
): Promise<ReadonlyMap<string, Outcome<Answer>>> {
  try {
    const answers = await read(questions)
    return new Map([...answers].map(([key, answer]) => [key, { answer }]))
  } catch (failure) {
    const all = [...questions]
    if (!isOfOneQuestion(failure)) throw failure
    if (all.length === 1) return new Map(all.map(([key]) => [key, { failure }]))
    const middle = Math.ceil(all.length / 2)
    const first = await readApart(read, isOfOneQuestion, new Map(all.slice(0, middle)))
    const second = await readApart(read, isOfOneQuestion, new Map(all.slice(middle)))
    return new Map([...first, ...second])
  }
}
