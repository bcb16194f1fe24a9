/**
 * Options by which Node.js optimises less code. What tests run ends before that pays: where a test starts many workers, it
 * was a quarter of what Node.js did. As in the service itself, WebAssembly is not optimised at all; JavaScript is, after nine times as long.
 */
export const NODE_FLAGS: readonly string[] = ['--liftoff-only', '--interrupt-budget=600000']

/** For processes that hardly do more than start: a fifth of that was to collect garbage, in a new space that begins small. */
export const PROCESS_FLAGS: readonly string[] = [...NODE_FLAGS, '--min-semi-space-size=16']
