// What can be done with workloads, wherever they are shown.
import { signal } from '@preact/signals'
import { send, workloadURL } from '../api/client'
import type { NewBulkAction, Row } from '../api/types'
import { plural, shell } from '../lib/format'
import type { IconName } from '../ui/icons'
import { ask, complain, toast } from '../ui/overlay'
import { curl, type Said } from '../ui/copyas'
import { mayNotWork } from '../live/may'
import { bulk } from './bulk'
import { phrase, T } from '../texts'

export interface Act { id: NewBulkAction['action']; label: string; done: string; icon: IconName; danger?: boolean; ask?: string }

/** Every act that needs no more than to be named, in the order in which they are shown. */
export const acts = {
  stop: { id: 'stop', label: T.$stop, done: T.$stopping, icon: 'stop', danger: true, ask: T.$runningTasksEndThe },
  restart: { id: 'restart', label: T.$restart, done: T.$restarted2, icon: 'restart', ask: T.$restartAsk },
  hold: { id: 'hold', label: T.$hold, done: T.$held, icon: 'noentry' },
  release: { id: 'release', label: T.$release, done: T.$released, icon: 'right' },
  preempt: { id: 'preempt', label: T.$preempt, done: T.$preempting, icon: 'back', ask: T.$itsResourcesAreTakenBackAs },
  move: { id: 'move', label: T.$move, done: T.$moving, icon: 'exit', ask: T.$itEndsWhereItIsAndStarts },
  delete: { id: 'delete', label: T.$delete, done: T.$deleting, icon: 'trash', danger: true, ask: T.$ifItIsRunningItEndsItsLogs },
} satisfies Record<string, Act>

/** Those that are seldom wanted. */
export const seldom: Act[] = [acts.hold, acts.release, acts.preempt, acts.move]

/** Those that somebody has chosen in the list that is shown. */
export const inHand = signal<Named[]>([])

/** What an act is asked of. */
export type Named = Pick<Row, 'id' | 'name' | 'project' | 'user' | 'phase' | 'kind' | 'preemptible' | 'allowedActions'>

const verbs: Record<string, string> = { stop: T.$stopped, delete: T.$deletedLower, release: T.$releasedLower, hold: T.$heldLower, scale: T.$scaledLower, move: T.$moved, change: T.$changedLower, update: T.$changedLower, restart: T.$restartedLower, preempt: T.$preemptedLower, approve: T.$approved, reject: T.$rejected, revise: T.$restartedWithAnother }

/** How it is said that an act was done. */
export const verb = (id: string): string => verbs[id] ?? id

/** What an act needs, but for update. */
const needs: Record<string, string> = { delete: 'delete', approve: 'approve', reject: 'approve' }

/** Why an act cannot be asked of a workload; undefined: it can. */
export function refusal(a: { id: string }, w: Named): string | undefined {
  if (w.allowedActions.includes(a.id)) return mayNotWork(needs[a.id] ?? 'update', w)
  if (w.kind === 'external' && (a.id === 'change' || a.id === 'revise')) return T.$itBelongsToAnother
  if (a.id === 'scale' && w.kind !== 'inference') return T.$onlyServicesHaveReplicas
  if (a.id === 'release') return T.$itIsNotHeld
  if (a.id === 'preempt' && !w.preemptible) return T.$itIsNotPreemptible
  return phrase(T.$aWorkloadInPhasePhase, { phase: w.phase, id: verb(a.id) })
}

/** Those of which an act can be asked. */
export const fit = <T extends Named>(a: { id: string }, of: T[]): T[] => of.filter((w) => !refusal(a, w))

const path = (a: Act, w: Named): [string, string] => (a.id === 'delete' ? ['DELETE', workloadURL(w.project, w.name)] : ['POST', workloadURL(w.project, w.name) + ':' + a.id])

/** Asks if need be, does it, and says how it went; with several the server begins to. Reports whether it was. */
export async function perform(a: Act, of: Named[]): Promise<boolean> {
  const all = fit(a, of)
  if (all.length === 0) return false
  if (a.ask && !(await ask(`${a.label} ${several(all)}?`, <><p>{a.ask}</p>{all.length > 1 && <ul class="names">{all.slice(0, 8).map((w) => <li key={w.project + w.name}>{w.name}</li>)}{all.length > 8 && <li class="muted">{phrase(T.$andSideMostMore, { sideMost: all.length - 8 })}</li>}</ul>}</>, a.label, a.danger))) return false
  try {
    if (all.length > 1) await bulk(a.id, all.map((w) => w.id))
    else {
      await send(...path(a, all[0]!))
      const w = all[0]!
      const back = undone[a.id]
      toast(`${a.done} ${w.name}`, back && { action: { label: T.$undo, run: () => void send(...path(acts[back], w)).then(() => toast(`${acts[back].done} ${w.name}`), complain) } })
    }
    return true
  } catch (e) {
    complain(e, `${a.label} ${several(all)}`)
    return false
  }
}

/** What takes an act back. */
const undone: Record<string, 'hold' | 'release'> = { hold: 'release', release: 'hold' }

/** The name of one, or how many there are. */
export const several = (of: Named[]): string => (of.length === 1 ? of[0]!.name : plural(of.length, T.$nWorkloads))

/** The arguments that name workloads of one project on a command line. */
const args = (project: string, names: string[]): string => names.map(shell).join(' ') + (project === 'default' ? '' : ' --project ' + shell(project))

/** The arguments that name a workload on a command line. */
export const named = (w: { name: string; project: string }): string => args(w.project, [w.name])

/** A client of the Python SDK, with what is done with it. */
export const python = (...lines: string[]): string => ['import muster', '', 'client = muster.Client()', ...lines].join('\n')

/** How Python names a workload, with what comes beside it. */
export const pyNamed = (w: { name: string; project: string }, ...more: string[]): string => [JSON.stringify(w.name), ...more].join(', ') + (w.project === 'default' ? '' : `, project=${JSON.stringify(w.project)}`)

/** An act as commands: on the command line one for each project. */
export function said(a: Act, of: Named[]): Said {
  const by = new Map<string, string[]>()
  for (const w of of) by.set(w.project, [...(by.get(w.project) ?? []), w.name])
  return {
    cli: [...by].map(([project, names]) => `muster ${a.id} ${args(project, names)}`).join('\n'),
    python: python(...of.map((w) => (a.id === 'move' ? `client.request("POST", ${JSON.stringify('/' + path(a, w)[1])})` : `client.${a.id}(${pyNamed(w)})`))),
    curl: of.map((w) => path(a, w)).map(([method, url]) => curl(url, { method })).join('\n'),
  }
}
