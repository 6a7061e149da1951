// Nodes and their devices as the screens of machines speak of them.
import type { Cluster, Device, DeviceLink, Holder, Holdings, Node } from '../api/types'
import { useLive, type Live } from '../live/fetch'
import { cluster } from '../live/store'
import { lastHeard } from '../live/stream'
import type { IconName } from '../ui/icons'
import type { Tone } from '../ui/status'
import { phrase, T } from '../texts'

export type NodeState = 'Ready' | 'Cordoned' | 'Draining' | 'Drained' | 'NotReady' | 'CutOff'

/** The state of a node in one word, that of muster node list. */
export function stateOf(n: Node): NodeState {
  if (n.cutOff) return 'CutOff'
  if (!n.ready) return 'NotReady'
  if (n.draining) return n.tasks > 0 ? 'Draining' : 'Drained'
  return n.cordoned ? 'Cordoned' : 'Ready'
}

export const nodeLooks: Record<NodeState, [Tone, IconName]> = {
  Ready: ['running', 'dot'], Cordoned: ['queued', 'noentry'], Draining: ['degraded', 'dots'], Drained: ['stopped', 'square'], NotReady: ['failed', 'cross'], CutOff: ['failed', 'warning'],
}

/** What a state means, in a sentence. */
export const stateMeans: Record<NodeState, string> = {
  Ready: T.$acceptsWorkloads, Cordoned: T.$acceptsNoNewWorkloads, Draining: T.$acceptsNoNewWorkloads2, Drained: T.$emptyAcceptsNoWorkloads,
  NotReady: T.$doesNotReportThatItIsReady, CutOff: T.$itsClusterDoesNotAnswer,
}

/** Whether a node takes new work. */
export const takes = (n: Node): boolean => n.ready && !n.cordoned && !n.cutOff

/** GPUs of a node that new work may have. */
export const freeOf = (n: Node): number => (takes(n) ? n.devices.reduce((sum, d) => sum + (d.healthy ? Math.max(0, 1000 - d.used) : 0), 0) / 1000 : 0)

/** Indexes of the GPUs of a node that are broken. */
export const brokenOf = (n: Node): number[] => n.devices.filter((d) => !d.healthy).map((d) => d.index)

/** What is wrong with a node; empty: nothing. */
export function troubles(n: Node): string[] {
  const out: string[] = []
  const state = stateOf(n)
  if (state !== 'Ready') out.push((n.message && (state === 'NotReady' || state === 'CutOff') ? n.message : stateMeans[state]) + (n.note ? `: ${n.note}` : ''))
  const broken = brokenOf(n)
  if (broken.length > 0) out.push(phrase(T.$gpusBroken, { gpus: broken.join(', ') }))
  return out
}

/** The GPUs of a node by kind: 8 × H100. */
export function kindsOf(n: Node): string {
  const kinds = new Map<string, number>()
  for (const d of n.devices) kinds.set(d.product, (kinds.get(d.product) ?? 0) + 1)
  return [...kinds].map(([k, c]) => `${c} × ${short(k)}`).join(', ')
}

/** The product of a GPU without its maker. */
export const short = (product: string): string => product.replace(/^NVIDIA /, '').replace(/-SXM\S*|-PCIE\S*/i, '')

export const byName = (a: { name: string }, b: { name: string }): number => a.name.localeCompare(b.name, undefined, { numeric: true })

export interface Rack {
  title: string
  /** What the rack is part of, where the topology has more than one level: a block. */
  group: string
  nodes: Node[]
}

const last = (label: string): string => label.slice(label.lastIndexOf('/') + 1)

/** Nodes by pool, and within it by the domains of its network. */
export function racks(c: Cluster, nodes: Node[]): Rack[] {
  const topology = new Map(c.pools.map((p) => [p.name, p.topology ?? []]))
  const many = { pools: c.pools.length > 1, backends: new Set(c.nodes.map((n) => n.backend)).size > 1 }
  const out = new Map<string, Rack>()
  for (const n of nodes) {
    let levels = topology.get(n.pool) ?? []
    if (levels.length === 0) levels = Object.keys(n.labels ?? {}).filter((l) => last(l) === 'rack')
    const domain = levels.filter((l) => n.labels?.[l]).map((l) => `${last(l)} ${n.labels![l]}`)
    const of = !n.backend ? [T.$noLongerThere] : [many.backends && n.backend, (many.pools || domain.length === 0) && phrase(T.$poolPool, { pool: n.pool }), ...domain.slice(0, -1)].filter(Boolean)
    const group = domain.length > 1 ? of.join(' · ') : ''
    const title = [...(group ? [] : of), ...domain.slice(-1)].join(' · ')
    const rack = out.get(group + '\n' + title) ?? { title, group, nodes: [] }
    out.set(group + '\n' + title, rack)
    rack.nodes.push(n)
  }
  for (const r of out.values()) r.nodes.sort(byName)
  return [...out.values()].sort((a, b) => a.group.localeCompare(b.group, undefined, { numeric: true }) || a.title.localeCompare(b.title, undefined, { numeric: true }))
}

/** What connects two GPUs of a node; undefined: nobody knows. */
export const linkOf = (n: Node, a: number, b: number): DeviceLink | undefined => n.links?.find((l) => (l.a === a && l.b === b) || (l.a === b && l.b === a))

/** What links are called, the closest first. */
export const linkKinds: [DeviceLink['kind'], string][] = [
  ['nvlink', 'NVLink'], ['switch', T.$onePCIeSwitch], ['switches', T.$severalPCIeSwitches], ['host-bridge', T.$pcieHostBridge], ['numa-node', T.$sameNUMANode], ['sockets', T.$betweenSockets],
]

/** The MIG partitions of a node as if they lay on as few GPUs as they could: on which each is nobody tells. */
export function packed(n: Node): Slice[][] {
  const all = Object.entries(n.mig ?? {}).flatMap(([profile, x]) => Array.from({ length: x.total }, (_, i): Slice => ({ profile, part: Math.min(7, parseInt(profile) || 1) / 7, used: i < x.used })))
  const out: { room: number; slices: Slice[] }[] = []
  for (const s of all.sort((a, b) => b.part - a.part || a.profile.localeCompare(b.profile) || Number(b.used) - Number(a.used))) {
    let gpu = out.find((g) => g.room > s.part - 1e-6)
    if (!gpu) out.push((gpu = { room: 1, slices: [] }))
    gpu.room -= s.part
    gpu.slices.push(s)
  }
  return out.map((g) => g.slices)
}

/** One MIG partition, and how great a part of a GPU it is. */
export interface Slice { profile: string; part: number; used: boolean }

/** Who holds what, read anew when something has changed, and when the stream beats. */
export const useHoldings = (): Live<Holdings> =>
  useLive<Holdings>('v1/holdings', () => `${cluster.value && version(cluster.value)} ${Math.floor(lastHeard.value / 10_000)}`, 1000)

// A cluster that is another object has changed.
const versions = new WeakMap<object, number>()
let count = 0

/** A number that another state of the cluster never has. */
export function version(c: object): number {
  const v = versions.get(c) ?? ++count
  versions.set(c, v)
  return v
}

export type CellState = 'free' | 'part' | 'held' | 'starting' | 'others' | 'shut' | 'broken'

/** One GPU. */
export interface Cell {
  node: Node
  device: Device
  state: CellState
  held: { by: Holder; part: number; task: number }[]
  /** 0 to 1; undefined: nobody looked */
  busy: number | undefined
  /** The instant it is of; undefined: the present */
  at?: number | undefined
}

export const cellWords: Record<CellState, string> = {
  free: T.$free, part: T.$partlyAllocated, held: T.$allocated, starting: T.$starting, others: T.$allocatedOutsideMuster, shut: T.$unavailable, broken: T.$broken,
}

/** Every GPU of some nodes. */
export function cells(nodes: Node[], h: Holdings | null, at?: number): Cell[] {
  const told = new Map(h?.nodes.map((n) => [n.name, new Map(n.devices.map((d) => [d.id, d]))]))
  return nodes.flatMap((node) => {
    const mine = told.get(node.name)
    return node.devices.map((device): Cell => {
      const d = mine?.get(device.id)
      const held = (d?.held ?? []).map((x) => ({ by: h!.workloads[x.workload]!, part: x.part, task: x.task }))
      return { node, device, held, at, busy: d?.utilization, state: stateOfDevice(node, device, held, h !== null) }
    })
  })
}

function stateOfDevice(n: Node, d: Device, held: Cell['held'], known: boolean): CellState {
  if (!d.healthy) return 'broken'
  if (held.length > 0) {
    if (held.reduce((sum, x) => sum + x.part, 0) < 1000) return 'part'
    return held.every((x) => x.by.phase === 'Reserved' || x.by.phase === 'Starting') ? 'starting' : 'held'
  }
  if (d.used > 0) return known ? 'others' : d.used < 1000 ? 'part' : 'held'
  return takes(n) ? 'free' : 'shut'
}

/** When a GPU is likely to be free, in milliseconds since 1970; 0: now, NaN: nobody knows. */
export function freeAt(c: Cell): number {
  if (c.state === 'free') return 0
  if (c.held.length === 0) return NaN
  return Math.max(...c.held.map((x) => (x.by.likely ? Date.parse(x.by.likely) : NaN)))
}
