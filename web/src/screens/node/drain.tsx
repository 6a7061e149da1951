import { useState } from 'preact/hooks'
import { asError, type ApiError } from '../../api/client'
import type { Drain, DrainStep, Node } from '../../api/types'
import { drain, saidDrain } from '../../fleet/acts'
import { stateOf, type Cell } from '../../fleet/nodes'
import { milli } from '../../fleet/parts'
import { now, present } from '../../lib/clock'
import { length } from '../../lib/filter'
import { ms, plural, span } from '../../lib/format'
import { workloadPath } from '../../lib/router'
import { useReading } from '../../live/fetch'
import { cluster } from '../../live/store'
import { Button, Card, Failure, Link, Loading } from '../../ui/basics'
import { Commands } from '../../ui/copyas'
import { Icon, type IconName } from '../../ui/icons'
import { Dialog, toast } from '../../ui/overlay'
import type { Tone } from '../../ui/status'
import { phrase, T } from '../../texts'

const fates: Record<string, { word: string; means: string; tone: Tone; icon: IconName }> = {
  move: { word: T.$moves, means: T.$itStartsAgainOnOtherNodes, tone: 'starting', icon: 'right' },
  park: { word: T.$waits, means: T.$itIsEndedAndQueuedNoOther, tone: 'queued', icon: 'clock' },
  wait: { word: T.$stays, means: T.$itIsNotPreemptibleAndRuns, tone: 'degraded', icon: 'dots' },
  ending: { word: T.$ends, means: T.$itIsAlreadyEnding, tone: 'stopping', icon: 'square' },
}

/** How long a step takes from now on, in milliseconds; NaN: nobody knows. */
function takesMs(s: DrainStep, at: number): number {
  if (s.action === 'wait') return s.endsBy ? Math.max(0, ms(s.endsBy) - at) : NaN
  return s.grace ? length(s.grace) : 0
}

/** When a node is empty, in words. */
export function emptyWords(items: DrainStep[], at: number): string {
  if (items.length === 0) return T.$theNodeIsEmptyNoWorkloads
  const all = items.map((s) => takesMs(s, at))
  const open = items.filter((_, i) => Number.isNaN(all[i]!))
  if (open.length > 0) return phrase(T.$whenTheNodeWillBeEmptyIs, { list: open.slice(0, 2).map((s) => s.workload).join(', '), more: open.length > 2 ? phrase(T.$andOpenMore, { open: open.length - 2 }) : '' })
  const most = Math.max(...all)
  return most < 1000 ? T.$theNodeIsEmptyAtOnce : phrase(T.$theNodeIsEmptyInTimeAtThe, { time: span(most) })
}

/** Something that is another once others are on a node, or on their way from it. */
function occupants(name: string): string {
  const n = cluster.value?.nodes.find((x) => x.name === name)
  return n ? JSON.stringify([n.tasks, n.cpu.used, n.memory.used, n.cordoned, n.draining, n.devices.map((d) => d.used)]) : ''
}

/** What would become of what runs on a node, or does become of it. It is the scheduler who has to think about that. */
export const usePreview = (name: string, force = false): { data: Drain | null; error: ApiError | null } =>
  useReading(`${name}?${force}`, () => drain(name, force ? { force } : {}, true), () => occupants(name), 5000)

function Fate({ of: s }: { of: DrainStep }) {
  const f = fates[s.action] ?? { word: s.action, means: '', tone: 'stopping' as const, icon: 'dots' as const }
  return <span class="status plain" data-tone={f.tone} title={f.means}><Icon name={f.icon} size={14} /><span>{f.word}</span></span>
}

function howLong(s: DrainStep): string {
  if (s.action === 'wait') return s.endsBy ? phrase(T.$endsByItselfWithinTime, { time: span(ms(s.endsBy) - now.value) }) : T.$noTimeLimit
  return s.grace ? phrase(T.$graceGracePeriod, { grace: s.grace }) : T.$immediately
}

function Steps({ items, ranks, title }: { items: DrainStep[]; ranks?: Map<string, number[]>; title: string }) {
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={title}>
      <table class="plain steps">
        <thead><tr><th scope="col">{T.$workload}</th><th scope="col" class="wide">{T.$user}</th><th scope="col" data-align="end" class="wide">{T.$tasks}</th><th scope="col" data-align="end">{T.$gpus}</th><th scope="col">{ranks ? T.$ifDrained : T.$effect}</th><th scope="col">{T.$time2}</th></tr></thead>
        <tbody>
          {items.map((s) => (
            <tr key={s.id}>
              <td><Link to={workloadPath(s.project, s.workload)} class="row-link">{s.workload}</Link><span class="muted wide">{s.project}</span></td>
              <td class="wide">{s.user}</td><td data-align="end" class="wide" title={ranks?.get(s.id) && phrase(T.$tasksList, { list: ranks.get(s.id)!.join(', ') })}>{s.tasks}</td><td data-align="end">{s.gpu > 0 ? milli(s.gpu) : '–'}</td>
              <td><Fate of={s} /></td><td class="muted">{howLong(s)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** What runs on a node, and what would become of it. */
export function Residents({ n, preview, error, all }: { n: Node; preview: Drain | null; error: ApiError | null; all: Cell[] }) {
  const ranks = new Map<string, number[]>()
  for (const x of all.flatMap((c) => c.held)) ranks.set(x.by.id, [...new Set([...(ranks.get(x.by.id) ?? []), x.task])])
  const items = preview?.items ?? []
  return (
    <Card title={T.$runningWorkloads} class="wide" aside={plural(n.tasks, T.$nTasks)}>
      {error && !preview ? <Failure error={error} /> : !preview ? <Loading rows={2} /> : items.length === 0
        ? <p class="muted">{n.tasks > 0 ? T.$tasksThatMusterDidNotStart : T.$nothingIsRunning}</p>
        : <Steps items={items} ranks={ranks} title={T.$runningWorkloads} />}
    </Card>
  )
}

/** That a node takes nothing, why, and how far it is emptied. */
export function Draining({ n, preview }: { n: Node; preview: Drain | null }) {
  const state = stateOf(n)
  const items = preview?.items ?? []
  const title = state === 'Drained' ? T.$drainedTheNodeIsEmpty : n.draining ? phrase(T.$drainingTasksLeft, { tasks: plural(n.tasks, T.$nTasks) }) : T.$cordonedAcceptsNoNew
  return (
    <Card class="wide drain-state" tone="wait" title={title}>
      <p>{n.note && <><b>{n.note}</b>. </>}{state === 'Drained' ? T.$nothingIsRunningAndNothing : n.draining ? emptyWords(items, present()) : T.$runningWorkloadsContinue}</p>
    </Card>
  )
}

/** Asks before a node is drained: with what comes of it. */
export function DrainDialog({ n, close }: { n: Node; close: () => void }) {
  const [force, setForce] = useState(false)
  const [note, setNote] = useState('')
  const [busy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<ApiError | null>(null)
  const { data, error } = usePreview(n.name, force)
  const items = data?.items ?? []
  const stays = items.some((s) => s.action === 'wait')
  const o = { ...(force ? { force } : {}), ...(note.trim() ? { note: note.trim() } : {}) }
  const run = async (): Promise<void> => {
    setBusy(true)
    try {
      const d = await drain(n.name, o, false)
      toast(d.items.length > 0 ? phrase(T.$drainingNameWorkloadsOnIt, { name: n.name, workloads: plural(d.items.length, T.$nWorkloads) }) : phrase(T.$drainedName, { name: n.name }))
      close()
    } catch (e) {
      setRefusal(asError(e))
      setBusy(false)
    }
  }
  return (
    <Dialog title={phrase(T.$drainName, { name: n.name })} close={close} class="drain">
      <p>{T.$nothingNewStartsOnItAnd}</p>
      {error && !data ? <Failure error={error} /> : !data ? <Loading rows={3} /> : (
        <>
          {items.length > 0 && <Counts items={items} />}
          {items.length > 0 && <Steps items={items} title={T.$effectOnWorkloads} />}
          <p class="drain-time"><Icon name="clock" />{emptyWords(items, present())}</p>
        </>
      )}
      {(stays || force) && <label class="tickbox"><input type="checkbox" checked={force} onChange={(e) => setForce(e.currentTarget.checked)} /><span>{T.$alsoMoveWorkloadsThatAre}<small>{T.$theirUsersDidNotExpectAn}</small></span></label>}
      <label class="drain-note">{T.$reason}<input type="text" value={note} placeholder={T.$fanReplacement} maxLength={200} onInput={(e) => setNote(e.currentTarget.value)} /></label>
      <details class="twin copyas"><summary>{T.$asACommand}</summary><div class="drain-said"><Commands said={saidDrain(n.name, o, false)} /></div></details>
      {refusal && <Failure error={refusal} />}
      <footer class="dialog-foot">
        <Button onClick={close}>{T.$cancel}</Button>
        <Button kind="danger" disabled={busy || !data} onClick={() => void run()}>{busy ? T.$loading : T.$drain}</Button>
      </footer>
    </Dialog>
  )
}

/** How many of each fate. */
function Counts({ items }: { items: DrainStep[] }) {
  return (
    <ul class="drain-counts">
      {Object.entries(fates).map(([id, f]) => {
        const k = items.filter((s) => s.action === id).length
        return k > 0 && <li key={id} data-tone={f.tone}><b>{k}</b> {f.means.replace(/^It /, k === 1 ? T.$workloadLower : T.$workloadsLower)}</li>
      })}
    </ul>
  )
}
