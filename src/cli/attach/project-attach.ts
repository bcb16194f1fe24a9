import { PASSWORD_MISSING } from '../../contract/attachment.ts'
import type { CommandContext } from '../environment.ts'
import { encodedPath } from '../http.ts'
import { RemoteProblem } from '../remote-problem.ts'
import { onServer, type Server, type ServerOptions } from '../server.ts'
import { askPassword } from '../terminal/ask-password.ts'
import { printable } from '../terminal/printable.ts'
import { printResult } from '../terminal/result.ts'
import { stagesNotExported } from './attachment-report.ts'
import { chosenStages } from './chosen-stages.ts'
import { type CompleteAddress, completeAddress } from './complete-address.ts'
import { sendAddress } from './send-address.ts'

interface AttachOptions extends ServerOptions {
  readonly schema?: readonly string[]
  readonly stage?: readonly string[]
  readonly change?: boolean
}

/** `project:attach` */
export async function runProjectAttach(
  context: CommandContext,
  slug: string,
  given: string,
  options: AttachOptions,
): Promise<number> {
  const environment = await context.environment.readAddressEnvironment()
  const address = await completeAddress(given, environment)
  const send = options.change ? change : attach
  return onServer(context, options, async (server) => {
    try {
      return await send(context, server, { slug, address, options })
    } catch (error) {
      if (address.hasPassword || !(error instanceof RemoteProblem && error.message.includes(PASSWORD_MISSING)))
        throw error
      const password = await askPassword(context, address.name)
      return send(context, server, { slug, address: await completeAddress(given, environment, password), options })
    }
  })
}

interface Attaching {
  readonly slug: string
  readonly address: CompleteAddress
  readonly options: AttachOptions
}

async function attach(context: CommandContext, server: Server, { slug, address, options }: Attaching): Promise<number> {
  const stages = chosenStages([...address.schemas, ...(options.schema ?? [])], options.stage ?? [])
  const project = await sendAddress(context, server, options, {
    ...{ method: 'POST', path: '/projects', address: address.text },
    body: { slug, attach: { address: address.text, stages } },
  })
  const unreadable = await stagesNotExported(server.http, encodedPath`/projects/${slug}`)
  return printResult(context, options, {
    json: { ...project, database: address.name },
    text: () => {
      const named = stages.map((stage) => `${stage.slug} (schema ${stage.schema})`).join(', ')
      const attached = printable(`attached ${address.name} as project ${project.slug}, stages: ${named}`)
      const advice = `wharf project:show ${project.slug} says why, and which GRANT is missing`
      const notes = unreadable.map((stage) => printable(`the login may not read all of stage ${stage}: ${advice}`))
      return [attached, ...notes].join('\n')
    },
  })
}

async function change(context: CommandContext, server: Server, { slug, address, options }: Attaching): Promise<number> {
  const project = await sendAddress(context, server, options, {
    ...{ method: 'PUT', path: encodedPath`/projects/${slug}/attachment`, address: address.text },
    body: { address: address.text },
  })
  return printResult(context, options, {
    json: { ...project, database: address.name },
    text: () => printable(`project ${project.slug} is in ${address.name} from now on`),
  })
}
