import type { Client } from './client.ts'
import type { Page, Project } from './types.ts'

/** More than anybody chooses from. */
const MAX_PAGES = 50

/** All projects that the token may know of, as far as lists to choose from go. */
export async function readProjects(client: Client, signal: AbortSignal): Promise<readonly Project[]> {
  const projects: Project[] = []
  let after: string | null = ''
  for (let page = 0; after !== null && page < MAX_PAGES; page += 1) {
    const query: string = after && `&after=${encodeURIComponent(after)}`
    const { items, next }: Page<Project> = await client.json(`/projects?limit=200${query}`, { signal })
    projects.push(...items)
    after = next
  }
  return projects
}
