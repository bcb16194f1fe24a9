/** Asks something, and shares the asking with whoever asks at the same time. */
export type Ask<Question, Answer> = (key: string, question: Question) => Promise<Answer>

interface Round<Question, Answer> {
  readonly questions: Map<string, Question>
  readonly answers: Promise<ReadonlyMap<string, Answer>>
  readonly start: () => void
}

/**
 * Shares tiny reads between those who need one at the same time, without anybody getting an old answer: a question
 * joins the next round to start, never the one under way, which may have read already. So what an answer says was
 * true at a moment after its question was put.
 *
 * At most one round runs and one waits.
 *
 * @param read answers all questions of a round; questions with one key are the same question. A key that it leaves out
 * is answered with undefined. What it throws, each question of the round gets.
 */
export function createRounds<Question, Answer>(
  read: (questions: ReadonlyMap<string, Question>) => Promise<ReadonlyMap<string, Answer>>,
): Ask<Question, Answer | undefined> {
  let waiting: Round<Question, Answer> | undefined
  let running = false

  const startNext = (): void => {
    const round = waiting
    waiting = undefined
    running = round !== undefined
    round?.start()
  }

  const open = (): Round<Question, Answer> => {
    const questions = new Map<string, Question>()
    let start: () => void = () => undefined
    const answers = new Promise<void>((resolve) => {
      start = resolve
    })
      .then(() => read(questions))
      // Not at once: what has arrived in the meantime, and is not parsed yet, comes along with the next one.
      .finally(() => setImmediate(startNext))
    // One who waits handles a failure; a round without anybody who still does must not end the process.
    answers.catch(() => undefined)
    return { questions, answers, start }
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
    const { questions, answers } = waiting
    questions.set(key, question)
    return (await answers).get(key)
  }
}
