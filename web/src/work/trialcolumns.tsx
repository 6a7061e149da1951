// The columns of a table of tries: what each was given, what came of it, what it took.
// Which are shown is chosen, and this browser keeps it, by the names of the columns.
import type { ComponentChildren } from 'preact'
import { remembered, texts } from '../lib/prefs'
import { short } from '../ui/curve'
import { Menu, type MenuItem } from '../ui/overlay'
import { better, metricsOf } from './reported'
import { T } from '../texts'
import { text, valueOf, type Kind, type Trial } from './trialvalues'

/** One column. way is where the best is: -1 where it is the least, 1 where it is the most; 0: no value is better than another. */
export interface Column {
  id: string
  title: string
  group: string
  usual: boolean
  end: boolean
  way: number
  of: (t: Trial) => unknown
  show: (t: Trial) => ComponentChildren
  csv: (t: Trial) => string
}

const usualMost = 5 // numbers that have a column each before anybody chooses

/** Columns that are shown (+) or not (-) against what is usual. */
const chosen = remembered<string[]>('compare.columns', [], texts)

const long = (all: Trial[], of: (t: Trial) => unknown): boolean => all.some((t) => text(of(t)).length > 24)

const kinds: [Kind, () => string][] = [['best', () => T.$best], ['last', () => T.$lastLower], ['min', () => T.$minLower], ['max', () => T.$maxLower]]

/** Every column that there is of these, in the order in which they stand: commands come last. */
export function columnsOf(all: Trial[]): Column[] {
  const value = (group: string, name: string, usual: boolean, of: (t: Trial) => unknown): Column => {
    const wide = long(all, of)
    return { id: name, title: name, group, usual, end: false, way: 0, of, csv: (t) => text(of(t)), show: (t) => (wide ? <span class="clip trial-long" title={text(of(t))}>{text(of(t))}</span> : text(of(t))) }
  }
  const names = (part: 'given' | 'alike'): string[] => [...new Set(all.flatMap((t) => Object.keys(t[part] ?? {})))]
  const given = names('given').sort().map((g) => value(T.$parameters, g, true, (t) => t.given[g]))
  const alike = names('alike').filter((n) => !given.some((g) => g.id === n)).sort().map((g) => value(T.$sameInAll, g, false, (t) => t.alike?.[g]))
  const metrics = metricsOf(all.flatMap((t) => t.series)).filter((m) => !given.some((g) => g.id === m)) // what was given needs no second column
  const said = metrics.flatMap((m, i) => kinds.filter(([kind]) => kind !== 'best' || better(m) !== 0).map(([kind, name]): Column => {
    const usual = kind === (better(m) !== 0 ? 'best' : 'last')
    const of = (t: Trial): number | undefined => valueOf(t, m, kind)
    return {
      id: usual ? m : `${m}:${kind}`, title: usual ? m : `${m}, ${name()}`, group: m, usual: usual && i < usualMost, end: true, way: better(m), of,
      csv: (t) => String(of(t) ?? ''), show: (t) => (of(t) === undefined ? '–' : short(of(t)!)),
    }
  }))
  const took = (all[0]?.took ?? []).map((x, i): Column => ({
    id: ':' + x.id, title: x.title, group: T.$whatItTook, usual: false, end: true, way: 0,
    of: (t) => t.took?.[i]?.value, csv: (t) => String(t.took?.[i]?.value ?? ''), show: (t) => t.took?.[i]?.text ?? '–',
  }))
  const [brief, rest] = [[...given, ...alike].filter((c) => !long(all, c.of)), [...given, ...alike].filter((c) => long(all, c.of))]
  return [...brief, ...said, ...took, ...rest]
}

export const shownOf = (all: Column[]): Column[] => all.filter((c) => (c.usual ? !chosen.value.includes('-' + c.id) : chosen.value.includes('+' + c.id)))

function toggle(c: Column): void {
  const word = (c.usual ? '-' : '+') + c.id
  chosen.value = chosen.value.includes(word) ? chosen.value.filter((x) => x !== word) : [...chosen.value, word]
}

/** Chooses columns, by what they are of. */
export function Columns({ all }: { all: Column[] }) {
  const shown = shownOf(all)
  const groups = [...new Set(all.map((c) => c.group))].sort((a, b) => rank(a) - rank(b))
  return <Menu icon="columns" kind="quiet" label={T.$columns} stays items={groups.flatMap((g): MenuItem[] => [
    { label: g, head: true },
    ...all.filter((c) => c.group === g).map((c) => ({ label: c.title, checked: shown.includes(c), run: () => toggle(c) })),
  ])} />
}

/** What was alike in all comes last: it is the longest. */
const rank = (group: string): number => (group === T.$parameters ? 0 : group === T.$whatItTook ? 2 : group === T.$sameInAll ? 3 : 1)

/** Tries in the order of a column: the best first, else the least; those of which it says nothing come last. */
export function sorted(all: Trial[], by: Column | undefined): Trial[] {
  if (!by) return all
  return [...all].sort((a, b) => {
    const [x, y] = [by.of(a), by.of(b)]
    if (x === undefined || y === undefined) return Number(x === undefined) - Number(y === undefined)
    return typeof x === 'number' && typeof y === 'number' ? (by.way > 0 ? y - x : x - y) : text(x).localeCompare(text(y))
  })
}

/** Who is best in each column in which one can be: all that share it, unless that are all. */
export function bestIn(all: Trial[], columns: Column[]): Map<string, ReadonlySet<string>> {
  return new Map(columns.filter((c) => c.way !== 0).map((c) => {
    const known = all.flatMap((t) => { const v = c.of(t); return typeof v === 'number' ? [{ id: t.id, v }] : [] })
    const best = known.reduce((b, x) => (c.way > 0 ? Math.max(b, x.v) : Math.min(b, x.v)), c.way > 0 ? -Infinity : Infinity)
    const who = known.filter((x) => x.v === best)
    return [c.id, new Set(who.length < all.length ? who.map((x) => x.id) : [])]
  }))
}
