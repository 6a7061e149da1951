import { cellWords, freeAt, short, type Cell } from '../../fleet/nodes'
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

/** A GPU in a sentence. */
export function describe(c: Cell): string {
  const who = c.held.length ? phrase(T.$byHolderWords, { holderWords: holderWords(c) }) : ''
  const busy = c.busy !== undefined ? phrase(T.$busyWordsUtilization, { busyWords: busyWords(c) }) : ''
  const free = c.held.length ? phrase(T.$freeFreeWords2, { freeWords: freeWords(c) }) : ''
  return phrase(T.$nameGPUIndexProduct, { name: c.node.name, index: c.device.index, product: short(c.device.product), toLowerCase: cellWords[c.state].toLowerCase(), who, busy, free })
}
