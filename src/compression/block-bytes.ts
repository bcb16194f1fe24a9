/** How many bytes of text a member of gzip or frame of zstd has at most: larger ones gain less than 0.2 % in size. */
export const BLOCK_BYTES = 1024 * 1024

/** How many bytes such a member or frame has at most. Deflate adds at most six bytes for each 32,768; zstd a 256th. */
export const MAX_MEMBER_BYTES = BLOCK_BYTES + BLOCK_BYTES / 8
