import { projectSchema } from '../../contract/project.ts'
import { wrongUse } from '../../errors.ts'
import type { CommandContext } from '../environment.ts'
import { encodedPath } from '../http.ts'
import type { Server } from '../server.ts'
import { printable } from '../terminal/printable.ts'
import { printResult } from '../terminal/result.ts'
import { type AttachAllOptions, runAttachAll } from './attach-all.ts'
import { stagesNotExported } from './attachment-report.ts'
import { chosenStages } from './chosen-stages.ts'
import { type CompleteAddress, completeAddress } from './complete-address.ts'
import { sendAddress } from './send-address.ts'
import { withCompleteAddress } from './with-complete-address.ts'

interface AttachOptions extends AttachAllOptions {
  readonly schema?: readonly string[]
  readonly stage?: readonly string[]
  readonly all?: boolean
  readonly logEvents?: boolean
}

/** `project:attach` */
export async function runProjectAttach(
  context: CommandContext,
  slug: string,
  given: string | undefined,
  options: AttachOptions,
): Promise<number> {
  if (options.all) {
    if (given !== undefined) throw wrongUse('--all takes the address alone: each project has the name of its database')
    if (options.schema || options.stage) throw wrongUse(NO_STAGES)
    if (options.logEvents) throw wrongUse(NO_LOGS)
    return runAttachAll(context, slug, options)
  }
  if (given === undefined) throw wrongUse(NO_ADDRESS)
  if (options.name !== undefined || options.prefix !== undefined) throw wrongUse('--name and --prefix are for --all')
  const send = options.change ? change : attach
  const complete = (password?: string) =>
    completeAddress(given, environment, { ...(password !== undefined && { password }) })
  const environment = await context.environment.readAddressEnvironment()
  return withCompleteAddress(context, options, complete, (server, address) =>
    send(context, server, { slug, address, options }),
  )
}

const NO_STAGES =
  'with --all, the stages are the schemas that hold something: --schema and --stage name those of a single database'

const NO_LOGS = 'with --all, no event log is kept: have it kept of the stages that need one (stage:log)'

const NO_ADDRESS =
  'the address of the database is missing: wharf project:attach <slug> postgres://<login>@<host>/<database>'

interface Attaching {
  readonly slug: string
  readonly address: CompleteAddress
  readonly options: AttachOptions
}

async function attach(context: CommandContext, server: Server, { slug, address, options }: Attaching): Promise<number> {
  const chosen = chosenStages([...address.schemas, ...(options.schema ?? [])], options.stage ?? [])
  const stages = chosen.map((stage) => ({ ...stage, ...(options.logEvents && { logEvents: true }) }))
  const project = await sendAddress(
    context,
    server,
    options,
    {
      ...{ method: 'POST', path: '/projects', address: address.text },
      body: { slug, attach: { address: address.text, stages } },
    },
    projectSchema,
  )
  const unreadable = await stagesNotExported(server.http, encodedPath`/projects/${slug}`)
  return printResult(context, options, {
    json: { ...project, database: address.name },
    text: () => {
      const named = stages.map((stage) => `${stage.slug} (schema ${stage.schema})`).join(', ')
      const attached = printable(`attached ${address.name} as project ${project.slug}, stages: ${named}`)
      const advice = `wharf project:show ${project.slug} says why, and which GRANT is missing`
      const notes = unreadable.map((stage) => printable(`the login may not read all of stage ${stage}: ${advice}`))
      const logged = options.logEvents ? ['their event log is kept there, in the schema wharf_log'] : []
      return [attached, ...logged, ...notes].join('\n')
    },
  })
}

async function change(context: CommandContext, server: Server, { slug, address, options }: Attaching): Promise<number> {
  if (options.logEvents) throw wrongUse('--log-events is for a new project; of one that is there: stage:log')
  const project = await sendAddress(
    context,
    server,
    options,
    {
      ...{ method: 'PUT', path: encodedPath`/projects/${slug}/attachment`, address: address.text },
      body: { address: address.text },
    },
    projectSchema,
  )
  return printResult(context, options, {
    json: { ...project, database: address.name },
    text: () => printable(`project ${project.slug} is in ${address.name} from now on`),
  })
}
