import { join } from 'node:path'

/** The file of the data folder that keeps the root token, where none is configured. */
export const ROOT_TOKEN_FILE = 'root-token'

/** The path of that file. */
export const rootTokenPath = (dataDir: string): string => join(dataDir, ROOT_TOKEN_FILE)
