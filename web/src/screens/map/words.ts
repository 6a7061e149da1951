import { cellWords, freeAt, short, type Cell } from '../../fleet/nodes'
import { present } from '../../lib/clock'
import { gpus, span } from '../../lib/format'

/** When a GPU is free again, in words. */
export function freeWords(c: Cell): string {
  const at = freeAt(c)
  if (c.state === 'free') return 'now'
  if (c.state === 'shut' || c.state === 'broken') return 'not at present'
  return Number.isNaN(at) ? 'nobody knows' : at <= present() ? 'any moment' : 'in ' + span(at - present())
}

export const busyWords = (c: Cell): string => (c.busy === undefined ? (c.held.length ? 'nobody looked' : '–') : Math.round(c.busy * 100) + '%')

export const holderWords = (c: Cell): string => c.held.map((x) => x.by.name + (x.part < 1000 ? ` (${gpus(x.part / 1000)})` : '')).join(', ')

/** A GPU in a sentence. */
export function describe(c: Cell): string {
  const who = c.held.length ? ` by ${holderWords(c)}` : ''
  const busy = c.busy !== undefined ? `, ${busyWords(c)} busy` : ''
  const free = c.held.length ? `, free ${freeWords(c)}` : ''
  return `${c.node.name}, GPU ${c.device.index}, ${short(c.device.product)}: ${cellWords[c.state].toLowerCase()}${who}${busy}${free}`
}
