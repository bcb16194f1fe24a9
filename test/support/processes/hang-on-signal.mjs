/** Loaded before a program, lets SIGUSR2 do to its event loop what an endless loop would. */
import { isMainThread } from 'node:worker_threads'

if (isMainThread) process.on('SIGUSR2', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))
