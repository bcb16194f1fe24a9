import { afterAll, beforeAll, describe } from 'vitest'
import { installedPrograms, type OwnCluster, startOwnCluster } from './own-cluster.ts'
import { startWharf, type TestWharf } from './wharf.ts'

/**
 * Describes something on the embedded PostgreSQL, and on the one that the system has installed, where it has one.
 *
 * @param describeOn gets the running service; to be called in tests and hooks only.
 */
export function describeOnEachServer(describeOn: (wharf: () => TestWharf) => void): void {
  const programs = installedPrograms()
  describe('on the embedded PostgreSQL', () => describeWharf(() => startWharf(), describeOn))
  if (programs === undefined) {
    if (process.env.CI) throw new Error('no PostgreSQL is installed, which .ci/run should have seen to')
    return
  }
  describe(`on the PostgreSQL of ${programs}`, () => {
    let cluster: OwnCluster | undefined
    beforeAll(async () => {
      cluster = await startOwnCluster(programs)
    })
    afterAll(() => cluster?.remove())
    describeWharf(async () => {
      if (!cluster) throw new Error('the server did not start')
      return startWharf({ database: await cluster.createDatabase() })
    }, describeOn)
  })
}

function describeWharf(start: () => Promise<TestWharf>, describeOn: (wharf: () => TestWharf) => void): void {
  let wharf: TestWharf | undefined
  beforeAll(async () => {
    wharf = await start()
  })
  afterAll(() => wharf?.close())
  describeOn(() => {
    if (!wharf) throw new Error('the service does not run yet')
    return wharf
  })
}
