// What is known as the first error of workloads that failed, in a line: their pages
// tell it at length.
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { get, params } from '../api/client'
import type { Row, WorkloadErrorList } from '../api/types'
import { useReading } from '../live/fetch'
import { lastHeard } from '../live/stream'
import { T } from '../texts'

const keptMost = 5000
const askedMost = 200

/** The first errors that were asked for, by attempt; empty: there is none that is known. */
const known = signal<ReadonlyMap<string, string>>(new Map())

const crashes: ReadonlySet<string> = new Set(['Failed', 'Backoff', 'Restarting'])

/** Whether something went wrong in it of which its output may tell. */
const failing = (r: Row): boolean => crashes.has(r.phase) || (r.kind === 'inference' && !r.endedAt && (r.tasks.failed > 0 || (r.conditions ?? []).includes('Degraded')))

// What goes on may tell more with each change.
const keyOf = (r: Row): string => (r.endedAt ? `${r.id} ${r.attempt}` : `${r.id} ${r.revision}`)

/** The first error of a row, once it was asked for. */
export const firstErrorOf = (r: Row): string => (failing(r) ? (known.value.get(keyOf(r)) ?? '') : '')

/** Asks for the first errors of rows that are seen, all with one call. */
export function useFirstErrors(rows: Row[]): void {
  const asked = rows.filter((r) => failing(r) && !known.value.has(keyOf(r))).slice(0, askedMost)
  const ids = asked.map((r) => r.id).join()
  const { data } = useReading<{ of: Row[]; list: WorkloadErrorList }>(ids ? T.$firstError + '?' + ids : null, async (signal) => ({ of: asked, list: await get<WorkloadErrorList>('v1/first-errors' + params({ workload: ids }), signal) }), () => lastHeard.value)
  useEffect(() => {
    if (!data) return
    const titles = new Map(data.list.items.map((e) => [e.id, e.title]))
    const next = new Map(known.value.size > keptMost ? [] : known.value)
    // What is still searched for is asked for again.
    for (const r of data.of) if (titles.has(r.id) || data.list.searched === 0) next.set(keyOf(r), titles.get(r.id) ?? '')
    known.value = next
  }, [data])
}
