// A workload's place in the order is its priority; here it is changed.
import { useState } from 'preact/hooks'
import { send, workloadURL } from '../api/client'
import { rowOf } from '../live/store'
import { complain, toast } from '../ui/overlay'
import { named } from './acts'
import { phrase, T } from '../texts'

/** Words for priorities. */
export const words: [string, number][] = [['very-low', 25], ['low', 40], ['train', 50], ['medium-low', 65], ['interactive-preemptible', 75], ['medium', 80], ['medium-high', 90], ['build', 100], ['high', 125], ['very-high', 150]]

/** The priority of what names none. */
export const usual = (kind: string, preemptible: boolean): number => (kind === 'inference' ? 125 : kind !== 'workspace' ? 50 : preemptible ? 75 : 100)

/** The word for a priority, or its number. */
export const priorityWord = (n: number): string => words.find(([, v]) => v === n)?.[0] ?? String(n)

/** Changes the priority of what waits: within its project the highest go first. */
export function PriorityPick({ id }: { id: string }) {
  const row = rowOf(id)
  const [busy, setBusy] = useState(false)
  if (!row) return null
  const foreign = row.kind === 'external' ? T.$itBelongsToAnother : undefined
  const change = async (word: string): Promise<void> => {
    setBusy(true)
    try {
      await send('PATCH', workloadURL(row.project, row.id), { priority: word }, 'application/merge-patch+json')
      toast(phrase(T.$nameNowHasWordPriority, { name: row.name, word }))
    } catch (e) {
      complain(e, T.$couldNotChange)
    }
    setBusy(false)
  }
  const mine = priorityWord(row.priority)
  return (
    <section>
      <h3>{T.$positionInTheQueue}</h3>
      <label class="pick">{phrase(T.$priorityChoice, { choice: <select value={mine} disabled={busy || !!foreign} title={foreign} onChange={(e) => void change(e.currentTarget.value)}>
        {words.every(([w]) => w !== mine) && <option value={mine}>{mine}</option>}
        {words.map(([w]) => <option key={w} value={w}>{w}</option>)}
      </select> })}</label>
      <p class="muted">{phrase(T.$withinProjectHigher, { project: row.project, code: <code>muster update {named(row)} --priority high</code> })}</p>
    </section>
  )
}
