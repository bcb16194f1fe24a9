import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Files of a package that say under which terms it may be passed on. */
const TERMS = /^(licen[cs]e|copying|notice)/i

/** Where a package only names its licence. */
const NO_TERMS = 'It comes without the text of its licence, which is that of others here.'

/**
 * The licences of all packages that bundles hold a part of, as a text.
 *
 * @param metafiles what esbuild says of the bundles.
 * @throws where a package names no licence.
 */
export async function noticesOf(root, metafiles) {
  const folders = new Set()
  for (const { outputs } of metafiles) {
    for (const { inputs } of Object.values(outputs)) {
      for (const file of Object.keys(inputs)) {
        const [folder] = /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(file) ?? []
        if (folder !== undefined) folders.add(folder)
      }
    }
  }
  const notices = await Promise.all([...folders].map((folder) => noticeOf(join(root, folder))))
  return `Wharf is passed on with parts of these packages.\n\n${[...new Set(notices)].sort().join('\n')}`
}

async function noticeOf(folder) {
  const { name, version, license, author, repository } = JSON.parse(
    await readFile(join(folder, 'package.json'), 'utf8'),
  )
  if (typeof license !== 'string') throw new Error(`${name} ${version} names no licence`)
  const by = author && `by ${author.name ?? author}`
  const from = repository && `from ${repository.url ?? repository}`
  const files = (await readdir(folder, { withFileTypes: true })).filter(
    (file) => file.isFile() && TERMS.test(file.name),
  )
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file.name), 'utf8')))
  if (texts.length === 0) texts.push((await termsOfReadme(folder)) || NO_TERMS)
  const title = [`${name} ${version} (${license})`, by, from].filter(Boolean).join(', ')
  return `${'-'.repeat(80)}\n${title}\n\n${texts.map((text) => `${text.trim()}\n`).join('\n')}`
}

/** What the README has below "License", for packages that have no file of it. */
async function termsOfReadme(folder) {
  const name = (await readdir(folder)).find((file) => /^readme/i.test(file))
  const text = name === undefined ? '' : await readFile(join(folder, name), 'utf8')
  return /^#+ *licen[cs]e\b.*\n([\s\S]*)/im.exec(text)?.[1] ?? ''
}
