import { fileURLToPath } from 'node:url'

/**
 * The path of a file, or a folder, that comes with the package. This module is in a folder directly below the package's own, both as
 * source and in `dist/`, where all modules are in one folder.
 *
 * @param path as seen from the package's folder.
 */
export const packageFile = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))
