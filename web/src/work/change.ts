// What may change of workloads while they live: priority and limits, and how many
// replicas a service has.
import { get, send, workloadURL } from '../api/client'
import type { Workload } from '../api/types'
import { shell } from '../lib/format'
import { askFor, type Input, type Values } from '../ui/ask'
import { curl, type Said } from '../ui/copyas'
import { complain, toast } from '../ui/overlay'
import { named, pyNamed, python, several, type Named } from './acts'
import { bulk } from './bulk'
import { words } from './priority'
import { phrase, T } from '../texts'

/** Asks how many replicas a service is to have. */
export function scaleForm(w: Named & Pick<Workload, 'replicas'>): void {
  const url = workloadURL(w.project, w.name) + ':scale'
  const n = (v: Values): number => Number(v.replicas)
  askFor({
    title: phrase(T.$scaleName, { name: w.name }), yes: T.$scale, first: { replicas: String(w.replicas?.wanted ?? '') },
    inputs: () => [{ name: 'replicas', required: true, note: T.$0StopsAllReplicas }, { name: 'message', label: T.$reasonLower, note: T.$keptInTheHistory }],
    refuse: (v) => (/^\d{1,4}$/.test(v.replicas!.trim()) && n(v) <= 1000 ? undefined : T.$aNumberFrom0To1000),
    said: (v) => ({ cli: `muster scale ${named(w)} ${n(v)}`, python: python(`client.scale(${pyNamed(w, String(n(v)))})`), curl: curl(url, { method: 'POST', json: { replicas: n(v) } }) }),
    act: async (v) => {
      await send('POST', url, { replicas: n(v), ...(v.message ? { message: v.message } : {}) })
      toast(phrase(T.$scalingNameToN, { name: w.name, n: n(v) }))
    },
  })
}

interface Limits { priority?: string; preemptible?: boolean; maxDuration?: string; idleLimit?: string; gracePeriod?: string; retry?: { limit?: number } }

const limits: Input[] = [
  { name: 'maxDuration', label: T.$timeLimitLower, placeholder: '12h', note: T.$anAttemptThatHasRunThis },
  { name: 'idleLimit', label: T.$idleLimitLower, placeholder: '1h', note: T.$anAttemptWhoseGPUsHaveAll },
  { name: 'retry', label: T.$retriesLower, placeholder: '3', note: T.$howOftenAFailedAttemptIs },
  { name: 'gracePeriod', label: T.$gracePeriod, placeholder: '30s', note: T.$timeBetweenTheSignalToEnd },
]

/** What is filled in of what there is to change; null takes away. */
function patchOf(v: Values, first: Values): Record<string, unknown> {
  const out: Record<string, unknown> = {}
  for (const name of ['priority', 'maxDuration', 'idleLimit', 'gracePeriod', 'preemptible', 'retry']) {
    const text = (v[name] ?? '').trim()
    if (text === (first[name] ?? '')) continue
    out[name] = text === '' ? null : name === 'preemptible' ? text === 'true' : name === 'retry' ? { limit: /^\d+$/.test(text) ? Number(text) : text } : text
  }
  return out
}

/** Asks for priority and limits of one workload, or what of them is to change of several. */
export async function changeForm(all: Named[]): Promise<void> {
  const one = all.length === 1 ? all[0]! : null
  const spec = (one ? (await get<Workload>(workloadURL(one.project, one.name))).spec : {}) as Limits
  const first: Values = one ? {
    priority: String(spec.priority ?? ''), preemptible: String(spec.preemptible ?? ''), maxDuration: spec.maxDuration ?? '', idleLimit: spec.idleLimit ?? '',
    gracePeriod: spec.gracePeriod ?? '', retry: String(spec.retry?.limit ?? ''),
  } : {}
  const asItIs: [string, string][] = one ? [] : [['', T.$unchanged]]
  const mine = words.some(([w]) => w === first.priority) || !first.priority ? [] : [[first.priority, first.priority] as [string, string]]
  askFor({
    title: phrase(T.$priorityAndLimitsOfAll, { all: several(all) }), yes: T.$change, first,
    text: one ? undefined : T.$emptyFieldsStayUnchanged,
    inputs: () => [
      { name: 'priority', options: [...asItIs, ...mine, ...words.map(([w]): [string, string] => [w, w])] },
      { name: 'preemptible', options: [...asItIs, ['true', T.$yes], ['false', T.$no]], note: T.$whetherItCanBePreempted },
      ...limits,
    ],
    refuse: (v) => (Object.keys(patchOf(v, first)).length === 0 ? T.$nothingHasChanged : undefined),
    said: (v) => saidChange(all, patchOf(v, first)),
    act: async (v) => {
      const patch = patchOf(v, first)
      if (one) {
        const set = (p: Record<string, unknown>): Promise<unknown> => send('PATCH', workloadURL(one.project, one.name), p, 'application/merge-patch+json').then(() => undefined)
        await set(patch)
        const was = patchOf(Object.fromEntries(Object.keys(patch).map((k) => [k, first[k] ?? ''])), Object.fromEntries(Object.keys(patch).map((k) => [k, v[k] ?? ''])))
        toast(phrase(T.$changedName, { name: one.name }), { action: { label: T.$undo, run: () => void set(was).then(() => toast(phrase(T.$changedName, { name: one.name })), complain) } })
      }
      else await bulk('change', all.map((w) => w.id), patch)
    },
  })
}

const flagOf: Record<string, string> = { priority: '--priority', maxDuration: '--max-duration' }

function saidChange(all: Named[], patch: Record<string, unknown>): Said {
  const flags = Object.entries(patch).map(([k, v]) => {
    if (k === 'retry') return '--set ' + shell('retry.limit=' + (v ? (v as { limit: unknown }).limit : ''))
    return flagOf[k] && v !== null ? `${flagOf[k]} ${shell(String(v))}` : '--set ' + shell(`${k}=${v ?? ''}`)
  }).join(' ')
  const json = JSON.stringify(patch)
  return {
    cli: all.map((w) => `muster update ${named(w)} ${flags}`).join('\n'),
    python: python('import json', `fields = json.loads(${JSON.stringify(json)})`, ...all.map((w) => `client.change(${pyNamed(w, 'fields')})`)),
    curl: all.map((w) => curl(workloadURL(w.project, w.name), { method: 'PATCH', json: patch }).replace('application/json', 'application/merge-patch+json')).join('\n'),
  }
}
