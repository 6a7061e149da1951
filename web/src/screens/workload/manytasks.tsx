// Tasks of which there are too many to have them all here: the server filters and
// orders them, and tells them page by page as somebody scrolls.
import { useRef, useState } from 'preact/hooks'
import { get, params, workloadURL, type ApiError } from '../../api/client'
import type { Attempt, Task, TaskPage, Workload } from '../../api/types'
import { count } from '../../lib/format'
import { go, setQuery, workloadPath } from '../../lib/router'
import { useReading } from '../../live/fetch'
import { rowOf } from '../../live/store'
import { Empty, Failure, Loading } from '../../ui/basics'
import { TaskStatus } from '../../ui/status'
import { Table, type Column, type Sort } from '../../ui/table'
import { AttemptChoice, order } from './tasks'
import { phrase, T } from '../../texts'

const pageSize = 500
const anewMost = 5000 // rows that are read anew at once when something has changed

interface Loaded { items: Task[]; next: string; total: number; counts: Record<string, number>; of: string }

/** Tasks as far as they were scrolled to; they are read anew when the workload has changed. */
function usePages(w: Workload, attempt: number, state: string, sort: string, from: number): { got: Loaded | null; error: ApiError | null; more: () => void } {
  const [, draw] = useState(0)
  const of = [w.id, attempt, state, sort, from].join()
  const have = useRef<Loaded | null>(null)
  const busy = useRef(false)
  const page = (limit: number, cursor: string, signal?: AbortSignal): Promise<TaskPage> =>
    get<TaskPage>(workloadURL(w.project, w.name) + '/tasks' + params({ attempt: String(attempt), state, sort, limit, cursor }), signal)
  const { error } = useReading(of, async (signal) => {
    const n = have.current?.of === of ? have.current.items.length : 0
    const p = await page(Math.min(anewMost, Math.max(pageSize, n)), from ? String(from) : '', signal)
    return (have.current = { ...p, of })
  }, () => rowOf(w.id)?.revision, 500)
  const more = (): void => {
    const l = have.current
    if (busy.current || !l?.next || l.of !== of) return
    busy.current = true
    page(pageSize, l.next)
      .then((p) => {
        if (have.current !== l) return
        have.current = { ...p, items: l.items.concat(p.items), of }
        draw((n) => n + 1)
      })
      .catch(() => {}) // it is tried again when somebody scrolls on
      .finally(() => (busy.current = false))
  }
  return { got: have.current, error, more }
}

const sorts = ['task', 'state', 'node', 'exit', 'ran', 'started']

export function ManyTasks({ w, attempt, query, sort, columns }: { w: Workload; attempt: Attempt; query: URLSearchParams; sort: Sort | null; columns: Column<Task>[] }) {
  const state = order.includes(query.get('state') ?? '') ? query.get('state')! : ''
  const by = sort && sorts.includes(sort.by) ? (sort.down ? '-' : '') + sort.by : 'task'
  const wanted = Number(query.get('from')) || 0
  const from = by === 'task' && !state ? wanted : 0
  const { got, error, more } = usePages(w, attempt.index, state, by, from)
  if (error) return <Failure error={error} />
  if (!got) return <Loading />
  const all = Object.values(got.counts).reduce((a, b) => a + b, 0)
  return (
    <>
      <div class="toolbar">
        <AttemptChoice w={w} attempt={attempt.index} />
        <div class="segments" role="group" aria-label={T.$state}>
          <button type="button" aria-pressed={!state} onClick={() => setQuery({ state: null })}>{phrase(T.$allWaitingCount, { waitingCount: count(all) })}</button>
          {order.filter((s) => got.counts[s]).map((s) => <button key={s} type="button" aria-pressed={state === s} onClick={() => setQuery({ state: state === s ? null : s, from: null })}><TaskStatus state={s} label={`${count(got.counts[s]!)} ${s}`} /></button>)}
        </div>
        {by === 'task' && !state && <label class="pick">{phrase(T.$fromTaskChoice, { choice: <input type="number" min={0} value={from} onChange={(e) => setQuery({ from: e.currentTarget.value || null })} /> })}</label>}
      </div>
      <div class="tasks-table">
        <Table label={T.$tasks} columns={columns} rows={got.items} keyOf={(t) => String(t.index)} sort={sort} onSort={(s) => setQuery({ sort: (s.down ? '-' : '') + s.by, from: null })} onEnd={more}
          open={(t) => go(workloadPath(w.project, w.name, `logs&attempt=${attempt.index}&task=${t.index}`))} empty={<Empty title={T.$noTaskIsInThisState} />} />
      </div>
      <p class="muted" role="status">{got.next ? phrase(T.$itemsOfFromLoadedScrollFor, { items: count(got.items.length), from: count(got.total - from) }) : phrase(T.$itemsTasks, { items: count(got.items.length) })}</p>
    </>
  )
}
