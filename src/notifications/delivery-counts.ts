import { Counter, type Metric } from 'prom-client'

/** What this process knows of notifications that it has sent, or given up, for Prometheus. */
export interface DeliveryCounts {
  readonly metrics: readonly Metric[]
  count(outcome: 'sent' | 'failed' | 'retried'): void
}

/** Counts from zero; each process counts what it has sent itself, so that sums over processes are right. */
export function createDeliveryCounts(): DeliveryCounts {
  const counter = new Counter({
    name: 'wharf_notification_attempts_total',
    help: 'Attempts of this process to send a notification: sent, to be retried, or failed for good.',
    labelNames: ['outcome'],
    registers: [],
  })
  // A rate needs a value before the first.
  for (const outcome of ['sent', 'failed', 'retried']) counter.inc({ outcome }, 0)
  return { metrics: [counter], count: (outcome) => counter.inc({ outcome }) }
}
