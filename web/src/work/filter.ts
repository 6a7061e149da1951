// What the fields of a filter mean for workloads.
import type { Row, Wait } from '../api/types'
import { ms } from '../lib/format'
import { compares, length, like, parse, split, type Term } from '../lib/filter'
import { nearest } from '../lib/nearest'
import { dialect } from '../lib/prefs'
import { phrase, T } from '../texts'

export const fieldNames: ReadonlySet<string> = new Set(['status', 'project', 'user', 'kind', 'name', 'node', 'gpu', 'gpus', 'priority', 'age', 'ended', 'reason', 'label', 'id', 'try', 'is'])

/** Phases that belong together, as people speak of them. */
export const groups: Record<string, ReadonlySet<string>> = {
  active: new Set(['Submitted', 'Reviewing', 'Building', 'Inadmissible', 'Queued', 'Reserved', 'Starting', 'Running', 'Restarting', 'Terminating', 'Backoff', 'Publishing', 'Deleting']),
  waiting: new Set(['Submitted', 'Reviewing', 'Building', 'Inadmissible', 'Queued', 'Reserved', 'Backoff']),
  started: new Set(['Starting', 'Running', 'Restarting', 'Terminating', 'Publishing']),
  pending: new Set(['Submitted', 'Reviewing', 'Building', 'Inadmissible', 'Queued', 'Reserved', 'Backoff']),
  ended: new Set(['Completed', 'Failed', 'Stopped', 'Canceled', 'Preempted', 'TimedOut', 'Lost', 'Deleted']),
  bad: new Set(['Failed', 'Lost', 'TimedOut']),
}

export interface Context { me: string; now: number; waits: ReadonlyMap<string, Wait> }

type Test = (r: Row) => boolean

function one(t: Term, v: string, c: Context): Test {
  switch (t.field) {
    case 'status': {
      const group = groups[v.toLowerCase()]
      const d = dialect.value
      const said: Test = (r) => d !== 'native' && like(r.words[d] ?? '', v)
      return (r) => (group ? group.has(r.phase) : like(r.phase, v)) || said(r)
    }
    case 'project': return (r) => like(r.project, v)
    case 'user': return v === '@me' ? (r) => r.user === c.me : (r) => like(r.user, v)
    case 'kind': return (r) => like(r.kind, v)
    case 'name': return (r) => like(r.name, v)
    case 'id': return (r) => r.id === v || String(r.number) === v
    case 'node': return (r) => !!r.nodes?.some((n) => like(n, v))
    case 'gpu': return (r) => !!r.gpuType && r.gpuType.toLowerCase().includes(v.toLowerCase())
    case 'reason': return (r) => like(r.reason ?? '', v) || like(c.waits.get(r.id)?.token ?? '', v)
    case 'label': return (r) => Object.keys(r.labels ?? {}).some((k) => like(k, v))
    case 'gpus': return (r) => compares(r.gpus, t.op, Number(v))
    case 'priority': return (r) => compares(r.priority, t.op, Number(v))
    case 'try': return (r) => compares(r.attempt, t.op, Number(v))
    case 'age': {
      const d = length(v)
      return (r) => compares(c.now - ms(r.createdAt), t.op === ':' ? '<' : t.op, d)
    }
    case 'ended': {
      const d = length(v)
      return (r) => compares(c.now - ms(r.endedAt), t.op === ':' ? '<' : t.op, d)
    }
    case 'is':
      if (v === 'preemptible') return (r) => r.preemptible
      if (v === 'degraded') return (r) => !!r.conditions?.includes('Degraded')
      if (v === 'idle') return (r) => !!r.conditions?.includes('Idle')
      return () => false
    default: {
      const key = t.field.slice('label.'.length)
      return (r) => r.labels?.[key] !== undefined && like(r.labels[key], v)
    }
  }
}

function termTest(t: Term, c: Context): Test {
  if (t.field === '') {
    const want = t.values[0] ?? ''
    const has: Test = (r) => r.name.toLowerCase().includes(want) || r.project.includes(want) || r.user.includes(want) || r.id === want
    return t.not ? (r) => !has(r) : has
  }
  if (t.values.length === 0) return () => true // it is being written
  const tests = t.values.map((v) => one(t, v, c))
  const any: Test = (r) => tests.some((f) => f(r))
  return t.not ? (r) => !any(r) : any
}

/** Whether a filter asks for what was deleted, which lists leave out otherwise. */
export const asksDeleted = (text: string): boolean => parse(text, fieldNames).some((t) => t.field === 'status' && !t.not && t.values.some((v) => v.toLowerCase() === 'deleted'))

const numbers = new Set(['gpus', 'priority', 'try'])
const lengths = new Set(['age', 'ended'])
const phasesKnown: ReadonlySet<string> = new Set(Object.values(groups).flatMap((g) => [...g]))

/** What of a filter can mean nothing, in a sentence; empty: it all means something. more are words for a status beside the phases. */
export function trouble(text: string, more: Iterable<string>): string {
  const instead = (written: string, words: Iterable<string>): string => {
    const near = nearest(written, words)
    return near ? phrase(T.$didYouMeanNear, { near }) : ''
  }
  for (const word of split(text)) {
    const m = /^-?([a-z][a-z0-9.\-_/]*)(?::|<=|>=|<|>)(.+)$/i.exec(word)
    if (!m) continue
    const field = m[1]!.toLowerCase()
    if (field.startsWith('label.')) continue
    if (!fieldNames.has(field)) return phrase(T.$xIsNotAFilterFieldSoItIs, { x: m[1], fieldNames: instead(field, fieldNames) })
    for (const v of m[2]!.replaceAll('"', '').split(',')) {
      if (v === '') continue
      if (numbers.has(field) && Number.isNaN(Number(v))) return phrase(T.$fieldTakesANumberNotX, { field, x: v })
      if (lengths.has(field) && Number.isNaN(length(v))) return phrase(T.$fieldTakesADurationSuchAs, { field, x: v })
      const statuses = [...Object.keys(groups), ...phasesKnown, ...more]
      if (field === 'status' && !v.includes('*') && !statuses.some((s) => s.toLowerCase() === v.toLowerCase())) return phrase(T.$xIsNotAStatusStatuses, { x: v, statuses: instead(v, statuses) })
    }
  }
  return ''
}

/** A filter as a function. */
export function compile(text: string, c: Context): Test {
  const tests = parse(text, fieldNames).map((t) => termTest(t, c))
  return (r) => tests.every((f) => f(r))
}
