import { signal } from '@preact/signals'
import type { MetricSeries, Row } from '../../api/types'
import { present, useTicking } from '../../lib/clock'
import { count, exact, gpus, localTimes, ms, span } from '../../lib/format'
import { workloadPath } from '../../lib/router'
import { waits } from '../../live/store'
import { Age, Bar, Link } from '../../ui/basics'
import { Spark } from '../../ui/spark'
import { Status, why, word } from '../../ui/status'
import type { Column } from '../../ui/table'
import { firstErrorOf } from '../../work/firsterrors'
import { hours } from '../../work/hours'
import { ExpectedStart } from '../../work/start'
import { phrase, T } from '../../texts'

/** Where a workload is looked at. Its name may be another one's once it is deleted. */
export const pathOf = (r: Row): string => workloadPath(r.project, r.phase === 'Deleted' ? r.id : r.name)

const byText = (f: (r: Row) => string) => (a: Row, b: Row): number => f(a).localeCompare(f(b))
const byNumber = (f: (r: Row) => number) => (a: Row, b: Row): number => f(a) - f(b)

/** For how long its attempts ran, or have run: not for how long it waited between them, or was published after them. */
export const ran = (r: Row, at: number): number => (r.startedAt ? (r.ranSeconds ?? 0) * 1000 + (r.runningAt ? at - ms(r.runningAt) : 0) : NaN)

function Ran({ of }: { of: Row }) {
  const text = useTicking((now) => (of.startedAt ? span(ran(of, of.runningAt ? now : 0)) : ''), of)
  return of.startedAt ? <>{text}</> : <span class="none">–</span>
}

/** GPU-seconds that were charged, by identity: of what is listed, while somebody looks at them. */
export const charged = signal<ReadonlyMap<string, number>>(new Map())

/** How busy GPUs were of late, by identity: of rows that are seen. */
export const busy = signal<ReadonlyMap<string, MetricSeries>>(new Map())

function Busy({ of }: { of: Row }) {
  const s = busy.value.get(of.id)
  return s ? <Spark of={s} /> : <span class="none">–</span>
}

function Charged({ of }: { of: Row }) {
  const seconds = charged.value.get(of.id) ?? 0
  return seconds > 0 ? <>{hours(seconds)}</> : <span class="none">–</span>
}

/** Where it is, or where it stands in its queue. */
/** GPUs as the page counts: parts where they are few, groups where they are many. */
const amount = (n: number): string => (n < 10_000 ? gpus(n) : count(n))

function Where({ of }: { of: Row }) {
  const wait = waits.value.get(of.id)
  if (wait && !of.endedAt) {
    return <span class="where">{wait.position ? <b class="place">#{wait.position}</b> : <span class="none">–</span>}<ExpectedStart id={of.id} short /></span>
  }
  if (of.nodes?.length) return <span class="clip" title={of.nodes.join(', ')}>{of.nodes[0]}{(of.nodeCount ?? 0) > 1 && <span class="muted"> +{of.nodeCount! - 1}</span>}</span>
  return <span class="none">–</span>
}

/** A token as words: stopped by user. */
const spoken = (token: string): string => token.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()

/** What explains the state, where anything needs to be explained. */
function Why({ of }: { of: Row }) {
  if (of.steps && !of.endedAt) {
    const share = Math.floor(((of.step ?? 0) / of.steps) * 100)
    return <span class="progress"><Bar part={of.step ?? 0} whole={of.steps} label={phrase(T.$stepMoreOfSteps, { more: of.step ?? 0, steps: of.steps })} tone="running" /><span>{share}%</span></span>
  }
  const known = firstErrorOf(of)
  if (of.kind === 'inference' && of.phase === 'Running' && of.tasks.running < of.tasks.total) return <span class="clip muted" title={[known, of.message].filter(Boolean).join(' · ') || undefined}>{[phrase(T.$runningOfTotalReplicas, { running: of.tasks.running, total: of.tasks.total }), known || of.message].filter(Boolean).join(' · ')}</span>
  if (of.array && !of.endedAt) {
    const { succeeded, failed, canceled = 0, total } = of.tasks
    const over = succeeded + failed + canceled
    return <span class="progress"><Bar part={over} whole={total} label={phrase(T.$tasksOverOfTotal, { over, total })} tone="running" /><span>{Math.floor((over / total) * 100)}%</span>{failed > 0 && <span class="bad">{phrase(T.$nFailedTasks, { n: count(failed) })}</span>}</span>
  }
  const wait = of.endedAt ? undefined : waits.value.get(of.id)
  const ours = localTimes(wait?.message || (of.phase === 'Completed' || of.phase === 'Running' ? '' : of.message || spoken(of.reason ?? '')), present())
  const text = [why(of), known || ours].filter(Boolean).join(' · ')
  return text ? <span class="clip muted" title={known ? [text, ours].filter(Boolean).join(' · ') : text}>{text}</span> : null
}

/** Columns that say nothing as long as all rows are the same in them. */
export const telling: ReadonlySet<string> = new Set(['project', 'user', 'try'])

/** Every column there is, in its usual order. */
export const columns: Column<Row>[] = [
  { id: 'name', title: T.$name, width: 160, grow: 3, rank: 1, sort: byText((r) => r.name), text: (r) => r.name,
    cell: (r) => <Link to={pathOf(r)} class="row-link clip">{r.name}</Link> },
  { id: 'status', title: T.$status, width: 164, rank: 2, sort: byText((r) => r.phase), text: (r) => r.phase, cell: (r) => <StatusCell of={r} /> },
  { id: 'why', title: T.$why, width: 170, grow: 6, rank: 4.5, text: (r) => [why(r), firstErrorOf(r), waits.peek().get(r.id)?.message ?? r.message ?? r.reason].filter(Boolean).join(' · '), cell: (r) => <Why of={r} /> },
  { id: 'project', title: T.$project, width: 110, grow: 0.6, rank: 6, sort: byText((r) => r.project), text: (r) => r.project, cell: (r) => <span class="clip">{r.project}</span> },
  { id: 'user', title: T.$user, width: 90, grow: 0.4, rank: 8, sort: byText((r) => r.user), text: (r) => r.user, cell: (r) => <span class="clip">{r.user}</span> },
  { id: 'gpus', title: T.$gpus, width: 92, align: 'end', rank: 4, sort: byNumber((r) => r.gpus), text: (r) => gpus(r.gpus),
    cell: (r) => r.gpus > 0 ? <>{(r.gpusHeld ?? 0) > 0 && r.gpusHeld! < r.gpus && amount(r.gpusHeld!) + '/'}{amount(r.gpus)}{r.gpuType && <span class="unit">×{r.gpuType}</span>}</> : <span class="none">–</span> },
  { id: 'where', title: T.$nodes, width: 150, grow: 0.4, rank: 5, text: (r) => (r.nodes ?? []).join(' '), cell: (r) => <Where of={r} /> },
  { id: 'try', title: T.$attempt3, width: 52, align: 'end', rank: 10, sort: byNumber((r) => r.attempt), text: (r) => String(r.attempt), cell: (r) => (r.attempt > 0 ? r.attempt : <span class="none">0</span>) },
  { id: 'ran', title: T.$runTime, width: 84, align: 'end', rank: 9, sort: byNumber((r) => ran(r, present()) || -1), text: (r) => (r.startedAt ? String(Math.round(ran(r, present()) / 1000)) : ''), cell: (r) => <Ran of={r} /> },
  { id: 'age', title: T.$age, width: 60, align: 'end', rank: 3, sort: (a, b) => b.number - a.number, text: (r) => r.createdAt, cell: (r) => <Age at={r.createdAt} /> },
  { id: 'kind', title: T.$kind, width: 100, rank: 11, optional: true, sort: byText((r) => r.kind), text: (r) => r.kind, cell: (r) => r.kind },
  { id: 'priority', title: T.$priority, width: 80, align: 'end', rank: 12, optional: true, sort: byNumber((r) => r.priority), text: (r) => String(r.priority), cell: (r) => r.priority },
  { id: 'tasks', title: T.$tasks, width: 84, align: 'end', rank: 13, optional: true, sort: byNumber((r) => r.tasks.total), text: (r) => String(r.tasks.total), cell: (r) => r.tasks.running > 0 ? `${r.tasks.running}/${r.tasks.total}` : r.tasks.total },
  { id: 'exit', title: T.$exitCode, width: 58, align: 'end', rank: 14, optional: true, sort: byNumber((r) => r.exitCode ?? -1), text: (r) => String(r.exitCode ?? ''), cell: (r) => r.exitCode ?? <span class="none">–</span> },
  { id: 'hours', title: T.$gpuHours, width: 96, align: 'end', rank: 10.5, optional: true, sort: byNumber((r) => charged.peek().get(r.id) ?? 0), text: (r) => ((charged.peek().get(r.id) ?? 0) / 3600).toFixed(4), cell: (r) => <Charged of={r} /> },
  { id: 'use', title: T.$gpuUtilization1H, width: 164, rank: 10.6, optional: true, text: (r) => String(busy.peek().get(r.id)?.last ?? ''), cell: (r) => <Busy of={r} /> },
  { id: 'ended', title: T.$ended, width: 76, align: 'end', rank: 15, optional: true, sort: byNumber((r) => ms(r.endedAt) || 0), text: (r) => r.endedAt ?? '', cell: (r) => (r.endedAt ? <Age at={r.endedAt} /> : <span class="none">–</span>) },
  { id: 'labels', title: T.$labels, width: 150, grow: 1, rank: 16, optional: true, text: (r) => labels(r), cell: (r) => <span class="clip muted">{labels(r)}</span> },
  { id: 'number', title: T.$number, width: 84, align: 'end', rank: 17, optional: true, sort: byNumber((r) => r.number), text: (r) => String(r.number), cell: (r) => r.number },
]

const labels = (r: Row): string => Object.entries(r.labels ?? {}).map(([k, v]) => (v ? `${k}=${v}` : k)).join(' ')

function StatusCell({ of }: { of: Row }) {
  return <span class="status-cell" title={phrase(T.$ofSinceTime, { of: word(of), time: exact(of.since) })}><Status of={of} wait={waits.value.get(of.id)} plain />{!of.endedAt && <span class="since"><Age at={of.since} /></span>}</span>
}
