// How a state looks: one icon, one colour, one word. Everything that shows a
// state asks here, so that it looks the same everywhere. Our own words have our
// looks, those of another platform have theirs (said.ts).
import type { Transition, Wait, Workload } from '../api/types'
import { dialect } from '../lib/prefs'
import { spoken, vocabulary, wordWhy } from '../live/words'
import { Icon, type IconName } from './icons'
import { lookOfWord } from './said'
import { T } from '../texts'

export type Tone = 'queued' | 'blocked' | 'starting' | 'running' | 'degraded' | 'stopping' | 'completed' | 'failed' | 'stopped' | 'preempted'
  | 'green' | 'orange' | 'blue' | 'grey' | 'red' | 'pale' // colours of other platforms

/** What of a workload its look depends on. */
export interface Stateful {
  phase: string
  reason?: string
  target?: string
  conditions?: string[]
  words?: Record<string, string>
  wordReasons?: Record<string, string>
}

const tones: Record<string, [Tone, IconName]> = {
  Submitted: ['queued', 'clock'],
  Reviewing: ['queued', 'person'],
  Building: ['starting', 'ring'],
  Inadmissible: ['blocked', 'noentry'],
  Queued: ['queued', 'clock'],
  Reserved: ['starting', 'ring'],
  Starting: ['starting', 'ring'],
  Running: ['running', 'dot'],
  Restarting: ['degraded', 'back'],
  Terminating: ['stopping', 'dots'],
  Backoff: ['preempted', 'back'],
  Publishing: ['starting', 'ring'],
  Completed: ['completed', 'tick'],
  Failed: ['failed', 'cross'],
  Lost: ['failed', 'cross'],
  TimedOut: ['stopped', 'square'],
  Stopped: ['stopped', 'square'],
  Canceled: ['stopped', 'square'],
  Preempted: ['preempted', 'back'],
  Deleting: ['stopping', 'dots'],
  Deleted: ['stopped', 'square'],
}

/** Tone and icon of a phase alone. */
export const lookOf = (phase: string): [Tone, IconName] => tones[phase] ?? ['stopping', 'dots']

const degrading = new Set(['Degraded', 'Unreachable'])

/** The word of the chosen dialect for a state; nothing in our own. */
const foreign = (w: Stateful): string | undefined => (dialect.value === 'native' ? undefined : w.words?.[dialect.value])

/** Tone and icon of a workload. */
export function look(w: Stateful, wait?: Wait): [Tone, IconName] {
  const said = foreign(w) || (spoken(w.phase) ? w.phase : '')
  const theirs = said && lookOfWord(said)
  if (theirs) return theirs
  if (w.phase === 'Running' && w.conditions?.some((c) => degrading.has(c))) return ['degraded', 'triangle']
  if (w.phase === 'Queued' && wait?.never) return ['blocked', 'noentry']
  if (w.phase === 'Queued' && w.reason === 'Preempted') return ['preempted', 'back']
  return lookOf(w.phase)
}

/** The word for a state: ours, or that of the dialect that was chosen. */
export const word = (w: Stateful): string => foreign(w) || w.phase

/** What is found of a workload where its row has it. */
export const stateOf = (w: Workload): Stateful => ({
  phase: w.phase, reason: w.reason ?? '', ...(w.target ? { target: w.target } : {}),
  conditions: w.conditions.map((c) => c.type), words: Object.fromEntries(Object.entries(w.statuses ?? {}).map(([d, s]) => [d, s.status])),
  wordReasons: Object.fromEntries(Object.entries(w.statuses ?? {}).flatMap(([d, s]) => (s.reason ? [[d, s.reason]] : []))),
})

/** What a transition led to. */
export const after = (t: Transition): Stateful => ({ phase: t.to, ...(t.target ? { target: t.target } : {}), ...(t.word ? { words: { [dialect.value]: t.word } } : {}) })

/** A state in our own words, with its reason. */
export const ours = (w: Stateful): string => w.phase + (w.reason ? `, ${w.reason}` : '')

/** Why it is in its state, in the dialect that was chosen; empty in our own. */
export function why(w: Stateful): string {
  const d = dialect.value
  return d === 'native' ? '' : wordWhy(w.words?.[d], w.wordReasons?.[d])
}

/** An end of which no history tells, in the word of the chosen dialect that is the same as ours. */
export const endAs = (phase: string): Stateful => {
  const same = vocabulary.value.find((v) => v.status.toLowerCase().replace(/^jobstat_/, '') === phase.toLowerCase())
  return { phase, ...(same ? { words: { [dialect.value]: same.status } } : {}) }
}

/** The chip that shows a state. */
export function Status({ of, wait, plain = false }: { of: Stateful; wait?: Wait | undefined; plain?: boolean }) {
  const [tone, icon] = look(of, wait)
  const spins = icon === 'ring'
  const never = of.phase === 'Queued' && wait?.never && !foreign(of)
  return (
    <span class={'status ' + (plain ? 'plain' : '')} data-tone={tone} title={dialect.value === 'native' && !never ? undefined : ours(of)}>
      <Icon name={icon} class={spins ? 'spins' : ''} size={14} />
      <span>{never ? T.$blocked : word(of)}</span>
      {of.target && !foreign(of) && <span class="then"><span class="sr">{T.$thenLower}</span><span aria-hidden="true">→</span> {of.target}</span>}
    </span>
  )
}

const taskTones: Record<string, [Tone, IconName]> = {
  pending: ['queued', 'clock'], starting: ['starting', 'ring'], running: ['running', 'dot'], stopping: ['stopping', 'dots'],
  succeeded: ['completed', 'tick'], failed: ['failed', 'cross'], lost: ['failed', 'cross'],
}

/** The chip of a task. */
export function TaskStatus({ state, label }: { state: string; label?: string | undefined }) {
  const [tone, icon] = taskTones[state] ?? ['stopping', 'dots']
  return (
    <span class="status plain" data-tone={tone}>
      <Icon name={icon} class={icon === 'ring' ? 'spins' : ''} size={14} />
      <span>{label ?? state}</span>
    </span>
  )
}
