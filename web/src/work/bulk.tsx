// What is done with many workloads runs on the server, where it goes on when this
// page is left: here it is begun, watched and cancelled.
import { effect, signal } from '@preact/signals'
import { asError, get, send } from '../api/client'
import type { BulkAction, BulkActionList, NewBulkAction } from '../api/types'
import { plural, count } from '../lib/format'
import { later } from '../lib/later'
import { remembered, texts } from '../lib/prefs'
import { session } from '../live/store'
import { Bar, Button } from '../ui/basics'
import { complain, toast } from '../ui/overlay'
import { phrase, T } from '../texts'

const every = 400 // ms between two looks at how far it has come

/** How each action is called while it goes on, and once it is done. */
const words: Record<NewBulkAction['action'], [string, string]> = {
  stop: [T.$stop, T.$stopping], restart: [T.$restart, T.$restarted2], delete: [T.$delete, T.$deleting], hold: [T.$hold, T.$held], release: [T.$release, T.$released],
  preempt: [T.$preempt, T.$preempting], move: [T.$move, T.$moving], approve: [T.$approve, T.$approved2], reject: [T.$reject, T.$rejected2], change: [T.$change, T.$changed],
}

const running = signal<BulkAction[]>([])
const watched = new Set<string>()
/** Ids of those whose end this tab has yet to say, also after it was loaded anew. */
const unsaid = remembered<string[]>('bulk.unsaid', [], texts, () => sessionStorage)

/** Begins an action on several workloads, by their ids. */
export async function bulk(action: NewBulkAction['action'], ids: string[], options?: unknown): Promise<void> {
  const begun = await send<BulkAction>('POST', 'v1/bulk-actions', { action, workloads: ids, ...(options === undefined ? {} : { options }) })
  unsaid.value = [...unsaid.value, begun.id]
  void watch(begun.id)
}

const pause = (): Promise<void> => new Promise((done) => setTimeout(done, every))

async function watch(id: string): Promise<void> {
  if (watched.has(id)) return
  watched.add(id)
  for (;;) {
    let a: BulkAction
    try {
      a = await get<BulkAction>('v1/bulk-actions/' + id)
    } catch (e) {
      const status = asError(e).status
      if (status === 0 || status >= 500) { // it may come back, and then knows
        await pause()
        continue
      }
      forget(id)
      complain(e)
      return
    }
    if (a.endedAt) {
      forget(id)
      say(a)
      return
    }
    running.value = [...running.value.filter((r) => r.id !== id), a].sort((x, y) => (x.startedAt < y.startedAt ? -1 : 1))
    await pause()
  }
}

function forget(id: string): void {
  running.value = running.value.filter((r) => r.id !== id)
  unsaid.value = unsaid.value.filter((x) => x !== id)
}

function say(a: BulkAction): void {
  const [label, done] = words[a.action as NewBulkAction['action']]
  if (a.refused === 0 && a.state === 'done') {
    toast(`${done} ${plural(a.done, T.$nWorkloads)}`)
    return
  }
  const text = phrase(a.state === 'cancelled' ? T.$bulkCancelled : T.$bulkEnded, { label, done: count(a.done), total: count(a.total), refused: count(a.refused) })
  toast(text, { bad: true, action: { label: T.$showResults, run: () => later((l) => l.bulkOutcomes(a)) } })
}

// What this user has begun elsewhere, or before the page was loaded, is shown too.
const stop = effect(() => {
  const user = session.value?.user
  if (!user) return
  queueMicrotask(() => stop())
  get<BulkActionList>('v1/bulk-actions').then(({ items }) => {
    for (const a of items) if (a.user === user && !a.endedAt) void watch(a.id)
    for (const id of unsaid.peek()) void watch(id)
  }).catch(() => {}) // then it is not shown; it goes on all the same
})

/** Those that go on, with how far they have come. */
export function BulkActions() {
  if (running.value.length === 0) return null
  return (
    <section class="bulk-actions" aria-label={T.$runningActions}>
      {running.value.map((a) => {
        const [label] = words[a.action as NewBulkAction['action']]
        const asked = a.done + a.refused
        return (
          <div key={a.id} class="bulk-action">
            <div><b>{label}</b> <span>{phrase(T.$usedOfTotal, { used: count(asked), total: plural(a.total, T.$nWorkloads) })}</span>{a.refused > 0 && <span class="muted">{phrase(T.$commaRefused, { n: count(a.refused) })}</span>}</div>
            <Button kind="quiet" onClick={() => void send('POST', `v1/bulk-actions/${a.id}/cancel`).catch(complain)}>{T.$cancel}</Button>
            <Bar part={asked} whole={a.total} label={`${asked} / ${a.total}`} />
          </div>
        )
      })}
    </section>
  )
}
