import { cellWords, freeAt, linkKinds, linkOf, short, type Cell } from '../../fleet/nodes'
import { present } from '../../lib/clock'
import { gpus, span } from '../../lib/format'
import { phrase, T } from '../../texts'

/** When a GPU is free again, in words. */
export function freeWords(c: Cell): string {
  const at = freeAt(c)
  if (c.state === 'free') return T.$now
  if (c.state === 'shut' || c.state === 'broken') return T.$notAtPresent
  return Number.isNaN(at) ? T.$unknownLower : at <= (c.at ?? present()) ? T.$anyMoment : phrase(T.$inTime, { time: span(at - (c.at ?? present())) })
}

export const busyWords = (c: Cell): string => (c.busy === undefined ? (c.held.length ? T.$notMeasured : '–') : Math.round(c.busy * 100) + '%')

export const holderWords = (c: Cell): string => c.held.map((x) => x.by.name + (x.part < 1000 ? ` (${gpus(x.part / 1000)})` : '')).join(', ')

/** In how many milliseconds all GPUs of a node are free again; 0: they are, NaN: nobody knows. */
const nodeFreeIn = (all: Cell[]): number => Math.max(0, ...all.map((c) => (c.state === 'free' ? 0 : Math.max(1, freeAt(c) - (c.at ?? present())))))

/** When all GPUs of a node are free again, in words; empty: they are. */
export function nodeFreeWords(all: Cell[]): string {
  const left = nodeFreeIn(all)
  return left === 0 ? '' : Number.isNaN(left) ? T.$unknownLower : left === 1 ? T.$anyMoment : phrase(T.$inTime, { time: span(left) })
}

/** The same, in as many letters as the map has room for: 3h. */
export function nodeFreeShort(all: Cell[]): string {
  const left = nodeFreeIn(all)
  return left === 0 ? '' : Number.isNaN(left) ? '?' : roughly(left)
}

/** A span in one unit, to the nearest hour where it is hours. */
export const roughly = (left: number): string => span(left >= 5_400_000 ? Math.round(left / 3_600_000) * 3_600_000 : Math.max(0, left)).split(' ')[0]!

/** What connects a GPU with the others of its node: NVLink to 1, 2, 3. */
export function linkWords(c: Cell): string {
  const to = new Map<string, number[]>()
  for (const d of c.node.devices) {
    const l = d === c.device ? undefined : linkOf(c.node, c.device.index, d.index)
    if (l) to.set(l.kind, [...(to.get(l.kind) ?? []), d.index])
  }
  return linkKinds.filter(([k]) => to.has(k)).map(([k, name]) => phrase(T.$linkTo, { name, gpus: to.get(k)!.join(', ') })).join('; ')
}

/** A GPU in a sentence. */
export function describe(c: Cell): string {
  const who = c.held.length ? phrase(T.$byHolderWords, { holderWords: holderWords(c) }) : ''
  const busy = c.busy !== undefined ? phrase(T.$busyWordsUtilization, { busyWords: busyWords(c) }) : ''
  const free = c.held.length ? phrase(T.$freeFreeWords2, { freeWords: freeWords(c) }) : ''
  return phrase(T.$nameGPUIndexProduct, { name: c.node.name, index: c.device.index, product: short(c.device.product), toLowerCase: cellWords[c.state].toLowerCase(), who, busy, free })
}
