import { ROOT_TOKEN } from '../service/wharf.ts'

/** The DSN of a project of a test's server, or of its relay. */
export const dsnOf = ({ url }: { readonly url: string }, project = '', token = ROOT_TOKEN): string =>
  `wharf://${project}:${token}@${new URL(url).host}`
