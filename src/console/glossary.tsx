import { Fragment } from 'preact'

const WORDS = [
  [
    'Stage',
    'A state of a project’s data, with tables of its own. A new project has one, named live; there can be more, such as a draft.',
  ],
  [
    'Archive',
    'A file with all tables and rows of a project, as of one moment. An export makes it, by a schedule or now.',
  ],
  ['Schedule', 'Says when an export or a transfer runs, of which projects, and how many archives are kept.'],
  ['Proven', 'The archive was restored once, where it disturbs nobody, and what came out was the same.'],
  ['Made', 'The archive is there, but it was not tried whether it can be restored.'],
  ['No longer kept', 'The archive was made, and has been deleted since, as its schedule says.'],
  ['Running', 'The run waits for its turn, or has not ended yet.'],
  ['Failed', 'There is no archive, or it could not be proven. The job’s page says why.'],
  ['Cancelled', 'Somebody ended the run before it was done.'],
  ['Skipped', 'There was no run, since the one before had not ended.'],
  ['None', 'No schedule ran that night.'],
  ['Yet to come', 'A schedule is still to run today.'],
  [
    'Restore',
    'Puts what an archive has in the place of what a project has. What it replaces is kept for a while, and can be put back: the job’s page says until when.',
  ],
  ['Import', 'The same with an archive that you have as a file, also one of another server.'],
  ['Transfer', 'Replaces what one project has by a copy of what another has, without a file in between.'],
  ['Overdue', 'The newest archive, or the newest that is proven, is older than its schedule allows.'],
] as const

/** What the words of these pages mean, for who reads them for the first time. */
export const Glossary = () => (
  <details>
    <summary>What these words mean</summary>
    <dl>
      {WORDS.map(([word, meaning]) => (
        <Fragment key={word}>
          <dt>{word}</dt>
          <dd>{meaning}</dd>
        </Fragment>
      ))}
    </dl>
  </details>
)
