import { readFile } from 'node:fs/promises'
import { unlessMissing } from './unless-missing.ts'

/** @returns the file's text; undefined where there is no such file. */
export const readFileIfThere = (path: string): Promise<string | undefined> => unlessMissing(readFile(path, 'utf8'))
