// When one that waits is expected to start: the same numbers in the same words
// wherever that is said.
import type { ComponentChild } from 'preact'
import type { Estimate } from '../api/types'
import { now } from '../lib/clock'
import { moment, ms } from '../lib/format'
import { waits } from '../live/store'
import { phrase, T } from '../texts'

const nothing: Estimate = { learnt: 0, limits: 0, unknown: 0, inside: 0, scored: 0 }

/** What was told last of a start goes before what this page has asked for itself. */
export function estimateOf(id: string, asked?: Estimate): Estimate | undefined {
  const w = waits.value.get(id)
  if (!w || (!w.start && !w.startLate)) return asked
  const { early: _, likely: __, late: ___, after: ____, ...basis } = asked ?? nothing
  return { ...basis, ...(w.startEarly && { early: w.startEarly }), ...(w.start && { likely: w.start }), ...(w.startLate && { late: w.startLate }) }
}

/** An expected start in a few words: the likely one, or what is known in its place. */
export function likely(e: Estimate | undefined, at: number): string {
  if (!e) return ''
  const t = (x: string | undefined): string => moment(x, at, false)
  if (e.likely) return ms(e.likely) > at ? '~' + t(e.likely) : T.$soon
  if (e.after) return phrase(T.$afterTime, { time: t(e.after) })
  if (e.late && !e.early) return phrase(T.$byTime, { time: t(e.late) })
  return e.early ? phrase(T.$notBeforeTime, { time: t(e.early) }) : T.$unknownLower
}

/** The range of an expected start; empty: it has none. */
export function range(e: Estimate | undefined, at: number): string {
  if (!e?.likely || !e.early || !e.late || ms(e.likely) <= at) return ''
  const [a, b] = [moment(e.early, at, false), moment(e.late, at, false)]
  return a === b ? '' : `${a} – ${b}`
}

/** Both, as a line of a list has it. */
export function ExpectedStart({ id, asked, short = false, none = null }: { id: string; asked?: Estimate | undefined; short?: boolean; none?: ComponentChild }) {
  const e = estimateOf(id, asked)
  const text = likely(e, now.value)
  const around = range(e, now.value)
  if (!text) return <>{none}</>
  return <span class="start" title={around ? phrase(T.$expectedStartBetween, { time: text, range: around }) : phrase(T.$expectedStartTime, { time: text })}>{text}{around && !short && <small>{around}</small>}</span>
}
