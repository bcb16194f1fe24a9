import { test } from 'vitest'
import { isRedisInstalled } from './redis.ts'

/** For tests that need Redis: they are left out where it is not installed. */
export const redisTest = test.skipIf(!isRedisInstalled)
