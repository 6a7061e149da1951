import { useMemo } from 'preact/hooks'
import type { Task, Workload } from '../../api/types'
import { now } from '../../lib/clock'
import { ms, span } from '../../lib/format'
import { go, setQuery, workloadPath } from '../../lib/router'
import { Age, Empty, Link } from '../../ui/basics'
import { TaskStatus } from '../../ui/status'
import { ManyTasks } from './manytasks'
import { Table, type Column, type Sort } from '../../ui/table'
import { phrase, T } from '../../texts'

export const order = ['failed', 'lost', 'stopping', 'running', 'starting', 'pending', 'succeeded']

/** A table of the tasks of one attempt. */
export function Tasks({ w, query }: { w: Workload; query: URLSearchParams }) {
  const wanted = query.get('attempt')
  const attempt = w.attempts.find((a) => String(a.index) === wanted) ?? w.attempts[w.attempts.length - 1]
  const sort: Sort | null = query.get('sort') ? { by: query.get('sort')!.replace(/^-/, ''), down: query.get('sort')!.startsWith('-') } : null
  const columns = useMemo(() => columnsOf(w, attempt?.index ?? 0), [w.project, w.name, attempt?.index])
  const rows = useMemo(() => {
    const all = [...(attempt?.tasks ?? [])]
    const by = sort && columns.find((c) => c.id === sort.by)?.sort
    return by ? all.sort((a, b) => (sort.down ? -by(a, b) : by(a, b)) || a.index - b.index) : all
  }, [attempt, sort?.by, sort?.down])
  if (!attempt) return <Empty title={T.$noAttempts} />
  if (attempt.tasksLeft) return <ManyTasks w={w} attempt={attempt} query={query} sort={sort} columns={columns} />
  return (
    <>
      <div class="toolbar">
        <AttemptChoice w={w} attempt={attempt.index} />
        <Counts tasks={attempt.tasks} />
      </div>
      <div class="tasks-table">
        <Table label={T.$tasks} columns={columns} rows={rows} keyOf={(t) => String(t.index)} sort={sort} onSort={(s) => setQuery({ sort: (s.down ? '-' : '') + s.by })}
          open={(t) => go(workloadPath(w.project, w.name, `logs&attempt=${attempt.index}&task=${t.index}`))} empty={<Empty title={T.$noTasksYet}><p>{T.$tasksAreCreatedWhenThe}</p></Empty>} />
      </div>
    </>
  )
}

export function AttemptChoice({ w, attempt }: { w: Workload; attempt: number }) {
  if (w.attempts.length < 2) return null
  return <label class="pick">{phrase(T.$attemptIndex, { index: <select value={attempt} onChange={(e) => setQuery({ attempt: e.currentTarget.value })}>{w.attempts.map((a) => <option key={a.index} value={a.index}>{a.index}</option>)}</select> })}</label>
}

function Counts({ tasks }: { tasks: Task[] }) {
  const n = new Map<string, number>()
  for (const t of tasks) n.set(t.state, (n.get(t.state) ?? 0) + 1)
  return <div class="counts">{order.filter((s) => n.has(s)).map((s) => <span key={s}><TaskStatus state={s} label={`${n.get(s)} ${s}`} /></span>)}</div>
}

function Ran({ t }: { t: Task }) {
  return <>{t.startedAt ? span((t.endedAt ? ms(t.endedAt) : now.value) - ms(t.startedAt)) : '–'}</>
}

const columnsOf = (w: Workload, attempt: number): Column<Task>[] => [
  { id: 'task', title: T.$task, width: 120, grow: 1, rank: 1, sort: (a, b) => a.index - b.index, text: (t) => `${t.role} ${t.index}`,
    cell: (t) => <Link to={workloadPath(w.project, w.name, `logs&attempt=${attempt}&task=${t.index}`)} class="row-link">{t.role} {t.index}</Link> },
  { id: 'state', title: T.$state, width: 120, rank: 2, sort: (a, b) => order.indexOf(a.state) - order.indexOf(b.state), text: (t) => t.state, cell: (t) => <TaskStatus state={t.state} /> },
  { id: 'why', title: T.$reason, width: 160, grow: 3, rank: 7, text: (t) => t.message ?? t.reason ?? t.waiting ?? '', cell: (t) => <span class="clip muted" title={t.message}>{t.message || t.reason || t.waiting}</span> },
  { id: 'node', title: T.$node, width: 120, grow: 1, rank: 3, sort: (a, b) => (a.node ?? '').localeCompare(b.node ?? ''), text: (t) => t.node ?? '', cell: (t) => <span class="clip">{t.node ?? <span class="none">–</span>}</span> },
  { id: 'devices', title: T.$gpus, width: 110, grow: 1, rank: 6, text: (t) => (t.devices ?? []).join(' '), cell: (t) => <span class="clip" title={(t.devices ?? []).join(', ')}>{t.devices?.length ? `${t.share && t.share < 1 ? phrase(T.$shareOf, { share: t.share }) : ''}${t.devices.join(', ')}` : <span class="none">–</span>}</span> },
  { id: 'exit', title: T.$exitCode, width: 60, align: 'end', rank: 4, sort: (a, b) => (a.exitCode ?? -1) - (b.exitCode ?? -1), text: (t) => String(t.exitCode ?? ''), cell: (t) => t.exitCode ?? <span class="none">–</span> },
  { id: 'ran', title: T.$runTime, width: 80, align: 'end', rank: 5, text: (t) => (t.startedAt ? span(ms(t.endedAt ?? t.startedAt) - ms(t.startedAt)) : ''), cell: (t) => <Ran t={t} /> },
  { id: 'started', title: T.$started2, width: 76, align: 'end', rank: 8, text: (t) => t.startedAt ?? '', cell: (t) => (t.startedAt ? <Age at={t.startedAt} /> : <span class="none">–</span>) },
]
