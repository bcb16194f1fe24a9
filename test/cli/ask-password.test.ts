import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, inject, onTestFinished, test } from 'vitest'
import { bundled } from '../support/processes/bundled.ts'
import { isInstalled } from '../support/processes/is-installed.ts'

const SCRIPT = bundled('run-ask-password')

/** The login of the shared server, which wants a password. */
const login = new URL(inject('wharfUrl'))
const password = decodeURIComponent(login.password)
login.password = ''
const PROMPT = `password for postgres://wharf@${login.host}${login.pathname}: `

/** Something that runs on a terminal, by `script` of util-linux. */
interface OnTerminal {
  readonly child: ChildProcessWithoutNullStreams
  /** What the terminal has shown. */
  shown(): string
  type(keys: string): void
}

function runOnTerminal(line: string): OnTerminal {
  const child = spawn('script', ['-qec', line, '/dev/null'], { env: { ...process.env, SHELL: '/bin/sh' } })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  let shown = ''
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString()
  })
  return { child, shown: () => shown, type: (keys) => void child.stdin.write(keys) }
}

const command = `'${process.execPath}' '${SCRIPT}' '${login.href}?sslmode=disable'`

test.skipIf(!isInstalled('script'))('a password is typed unseen, and corrected, on a terminal', async () => {
  const { child, shown, type } = runOnTerminal(command)
  await expect.poll(shown).toContain(PROMPT)
  type(`wrong\u0015${password}x\u007f`)
  type('\r')
  await once(child, 'exit')
  expect(shown()).toBe(`${PROMPT}\r\nconnected as wharf\r\n`)
})

test.skipIf(!isInstalled('script'))('a wrong password is not asked for again', async () => {
  const { child, shown, type } = runOnTerminal(command)
  await expect.poll(shown).toContain(PROMPT)
  type('hidden-guess\r')
  await once(child, 'exit')
  expect(shown()).toContain('password authentication failed')
  expect(shown()).not.toContain('hidden-guess')
})

test.skipIf(!isInstalled('script'))('Ctrl-C ends the question, and leaves the terminal as it was', async () => {
  const { child, shown, type } = runOnTerminal(`${command}; stty -a`)
  await expect.poll(shown).toContain(PROMPT)
  type('hidden\u0003')
  await once(child, 'exit')
  expect(shown()).toMatch(/: \r\ninterrupted\r\n/)
  expect(shown()).toMatch(/[^-]icanon\b[\s\S]*[^-]echo\b/)
  expect(shown()).not.toContain('hidden')
})

test.skipIf(!isInstalled('script'))('what is piped into the command is not taken for the password', async () => {
  const { child, shown, type } = runOnTerminal(`echo not-this | ${command}`)
  await expect.poll(shown).toContain(PROMPT)
  type(`${password}\r`)
  await once(child, 'exit')
  expect(shown()).toContain('connected as wharf')
})

test('where there is no terminal, it is said that a password is missing', async () => {
  const args = [SCRIPT, `${login.href}?sslmode=disable`]
  // A session of its own has no terminal.
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  await once(child, 'close')
  expect(said).toMatch(/asks for a password, and there is no terminal to ask on: PGPASSWORD or a password file/)
})
