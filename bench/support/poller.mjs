// Asks for URLs again and again, with pauses, over connections of its own, and says how long each 304 took. In a process of its
// own, so that what else the measuring process does is not counted.
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'

process.once('message', async ({ targets, connections, endsAt, maxPauseMs }) => {
  const polls = targets.map((target) => poll(target, { connections, endsAt, maxPauseMs }))
  process.send?.(await Promise.all(polls), () => process.disconnect())
})

async function poll({ url, headers }, { connections, endsAt, maxPauseMs }) {
  const unchangedMs = []
  const failures = []
  const askAgain = async () => {
    const dispatcher = new Agent({ connections: 1, pipelining: 1 })
    let reference
    while (Date.now() < endsAt) {
      await sleep(Math.random() * maxPauseMs)
      const begun = performance.now()
      try {
        const known = reference === undefined ? {} : { 'x-service-ref': reference }
        const answer = await request(url, { dispatcher, headers: { ...headers, ...known } })
        const text = await answer.body.text()
        if (answer.statusCode === 304) unchangedMs.push(performance.now() - begun)
        else if (answer.statusCode !== 200) failures.push(`GET ${url} ${answer.statusCode}: ${text.slice(0, 300)}`)
        reference = answer.headers['x-service-ref']
      } catch (error) {
        failures.push(`GET ${url}: ${String(error)}`)
      }
    }
    await dispatcher.close()
  }
  await Promise.all(Array.from({ length: connections }, askAgain))
  return { unchangedMs, failures }
}
