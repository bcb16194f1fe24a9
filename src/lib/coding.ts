import { zstd } from './zstd.ts'

/** How bytes are compressed, by the name that HTTP has for it (RFC 9110, section 8.4.1, and RFC 8878, section 7.1). */
export type Coding = 'gzip' | 'zstd'

/** Those that there are here; the one that is read everywhere first. */
export const CODINGS: readonly Coding[] = zstd ? ['gzip', 'zstd'] : ['gzip']

/** What the name of a file ends with. */
export const FILE_ENDINGS: Readonly<Record<Coding, string>> = { gzip: '.gz', zstd: '.zst' }

/** What HTTP calls such a file (RFC 6713, RFC 8878). */
export const MEDIA_TYPES: Readonly<Record<Coding, string>> = { gzip: 'application/gzip', zstd: 'application/zstd' }
