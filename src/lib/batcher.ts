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

/**
 * Shares tiny reads between those who need one at the same time, without anybody getting an old answer: a question
 * joins the next batch to start, never the one under way, which may have read already. So what an answer says was
 * true at a moment after its question was put.
 *
 * At most one batch runs and one waits.
 *
 * @param read answers a batch; questions with one key are the same question. What it throws, each question of the batch
 * gets, unless `isOfOneQuestion` says otherwise.
 * @param isOfOneQuestion whether a failure is the fault of a single question. The others are then asked without it: the
 * batch is read again in halves, until that question is alone with its failure.
 * @param gather starts the next batch after one has ended: later, where it is worth waiting for more questions.
 */
export function createBatcher<Question, Answer>(
  read: Read<Question, Answer>,
  isOfOneQuestion: (failure: unknown) => boolean = () => false,
  gather: (start: () => void) => void = setImmediate,
): Ask<Question, Answer | undefined> {
  let waiting: Batch<Question, Answer> | undefined
  let running = false

  const startNext = (): void => {
    const batch = waiting
    waiting = undefined
    running = batch !== undefined
    batch?.start()
  }

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
    if (!waiting) {
      waiting = open()
      // Not at once, so that all requests that have arrived already come along.
      if (!running) {
        running = true
        setImmediate(startNext)
      }
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
