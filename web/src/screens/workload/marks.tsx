// What happened to attempts at one moment: drawn on their lanes and charts, and said below.
import type { Workload } from '../../api/types'
import { now } from '../../lib/clock'
import { ms } from '../../lib/format'
import { workloadPath } from '../../lib/router'
import { rowOf } from '../../live/store'
import { At, Link } from '../../ui/basics'
import type { Moment } from '../../ui/plot'
import { phrase, T } from '../../texts'

export type Kind = 'checkpoint' | 'preempted' | 'failed' | 'lost' | 'user' | 'begin' | 'end'

export interface Mark { attempt: number; at: number; kind: Kind; text: string; /** Who got the room. */ by?: { project: string; name: string } }

const shapes: Record<Kind, string> = {
  checkpoint: 'M0 -5L5 0L0 5L-5 0Z', preempted: 'M-4.5 -4.5H4.5L0 4.5Z', failed: 'M-4 -4L4 4M4 -4L-4 4', lost: 'M-4.5 -4.5H4.5V4.5H-4.5ZM-4.5 4.5L4.5 -4.5', user: 'M0 -4.5A4.5 4.5 0 1 1 0 4.5A4.5 4.5 0 1 1 0 -4.5Z',
  begin: 'M-3.5 -4.5L4.5 0L-3.5 4.5Z', end: 'M-3.5 -3.5H3.5V3.5H-3.5Z',
}

/** The words of what people do. */
const acts: Record<string, string> = { stop: T.$stopped2, restart: T.$restarted2, delete: T.$deleted, queue_closed: T.$held, queue_open: T.$released, approve: T.$approved2, reject: T.$rejected2, scale: T.$scaled, preempt: T.$preempted, move: T.$moved2 }

/** Events by themselves, and how they are called. */
const events: Record<string, [Kind, string]> = {
  preempt: ['preempted', T.$preempted], move: ['preempted', T.$moved2], node_lost: ['lost', T.$nodeLost], outcome_lost: ['lost', T.$lost],
  task_failed: ['failed', T.$failed3], stuck: ['failed', T.$noProgress], below_minimum: ['failed', T.$tooFewTasksLeft], deadline: ['failed', T.$timeLimitReached],
}

/** What is marked of a workload, in the order of time. */
export function milestones(w: Workload): Mark[] {
  const out: Mark[] = w.attempts.flatMap((a) => (a.saved ? [{ attempt: a.index, at: ms(a.saved.at), kind: 'checkpoint' as const, text: phrase(T.$checkpointMore, { more: a.saved.step ? phrase(T.$atStepStep, { step: a.saved.step }) : '' }) }] : []))
  for (const t of w.transitions) {
    const who = t.actor.startsWith('user:') ? t.actor.slice(5) : ''
    const more = (t.reason === 'OutOfMemory' ? T.$outOfMemory : '') + (t.message ? ': ' + t.message : '')
    const [kind, word] = who && acts[t.event] ? ['user' as const, phrase(T.$eventByWho, { event: acts[t.event], who })] : (events[t.event] ?? [undefined, ''])
    if (!kind) continue
    const by = rowOf(t.for ?? '')
    out.push({ attempt: t.attempt, at: ms(t.at), kind, text: word + more, ...(by ? { by: { project: by.project, name: by.name } } : {}) })
  }
  return out.sort((a, b) => a.at - b.at)
}

/** What each shape says. */
const words: Record<Kind, string> = { begin: T.$attemptStarts, checkpoint: T.$checkpointLower, preempted: T.$preemptedOrMoved, failed: T.$failed, lost: T.$lostLower, user: T.$userAction, end: T.$attemptEnds }

const together = 1000 // ms within which an end and what it came of are one

/** The same for curves, with where attempts begin and end: lanes show that themselves. */
export function moments(w: Workload): Moment[] {
  const of = (m: Pick<Mark, 'at' | 'kind' | 'text'>): Moment => ({ ...m, shape: shapes[m.kind], weight: { begin: 0, end: 0, user: 1, checkpoint: 2 }[m.kind as string] ?? 3 })
  const noted = milestones(w)
  return [...noted, ...w.attempts.flatMap((a) => {
    const name = phrase(T.$attemptIndex, { index: a.index })
    const end = a.endedAt ? [{ at: ms(a.endedAt), kind: 'end' as const, text: phrase(T.$nameEndedMoreMore2, { name, more: a.reason ? ': ' + a.reason : '', more2: a.exitCode ? phrase(T.$exitCodeExitCode2, { exitCode: a.exitCode }) : '' }) }] : []
    return [...(a.startedAt ? [{ at: ms(a.startedAt), kind: 'begin' as const, text: phrase(T.$nameStarted, { name }) }] : []), ...end.filter((e) => !noted.some((m) => m.attempt === a.index && m.kind !== 'checkpoint' && Math.abs(m.at - e.at) < together))]
  })].map(of).sort((a, b) => a.at - b.at)
}

/** What the shapes among marks mean. */
export const Shapes = ({ of }: { of: Moment[] }) => of.length === 0 ? null : (
  <ul class="legend" aria-label={T.$milestones}>{(Object.keys(words) as Kind[]).filter((k) => of.some((m) => m.kind === k)).map((k) => <li key={k}><svg width="12" height="12" viewBox="-6 -6 12 12" class="milestone" data-kind={k} aria-hidden="true"><Shape of={k} /></svg>{words[k]}</li>)}</ul>
)

export const Shape = ({ of }: { of: Kind }) => <path d={shapes[of]} />

const most = 6 // that are said; the last are what explains the present

/** The marks as a list, the last first. */
export function Marks({ of, attempts }: { of: Mark[]; attempts: number }) {
  if (of.length === 0) return null
  const line = (m: Mark) => (
    <li key={m.kind + m.at}>
      <svg width="12" height="12" viewBox="-6 -6 12 12" class="milestone" data-kind={m.kind} aria-hidden="true"><Shape of={m.kind} /></svg>
      <span class="muted"><At at={m.at} now={now.value} seconds />{attempts > 1 && phrase(T.$attemptAttempt3, { attempt: m.attempt })}</span>
      <span>{m.text}</span>
      {m.by && <Link to={workloadPath(m.by.project, m.by.name)}>{phrase(T.$showName, { name: m.by.name })}</Link>}
    </li>
  )
  const all = of.map(line).reverse()
  return (
    <div class="gantt-marks">
      <ul aria-label={T.$milestones}>{all.slice(0, most)}</ul>
      {all.length > most && <details><summary>{phrase(T.$mostEarlierOnes, { most: all.length - most })}</summary><ul>{all.slice(most)}</ul></details>}
    </div>
  )
}
