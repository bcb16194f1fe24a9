import { join } from 'node:path'
import { inject } from 'vitest'

/** The path of the built program, or of a script of this folder, as few files. @see bundle.ts */
export const bundled = (name: string): string => join(inject('programs'), `${name}.js`)
