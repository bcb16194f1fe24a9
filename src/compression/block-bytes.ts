/** How much plain text one member of gzip or frame of zstd holds at most: larger ones gain less than 0.2 % in size. */
export const BLOCK_BYTES = 1024 * 1024

/**
 * How many bytes a member or frame of such a block has at most. Of deflate it is the block as it is and five bytes for each
 * 65,535 of it or fewer; zstd reckons with a 256th more.
 */
export const MAX_MEMBER_BYTES = BLOCK_BYTES + BLOCK_BYTES / 8
