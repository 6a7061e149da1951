// Tries of the same thing with other values: tasks of a sweep, or workloads side by
// side. What each was given, what came of it, and which did best.
import { useState } from 'preact/hooks'
import type { ReportedSeries } from '../api/types'
import { count } from '../lib/format'
import { csv, saveText } from '../lib/save'
import { Button, Card, Link, useWidth } from '../ui/basics'
import { short } from '../ui/curve'
import { Status, TaskStatus, type Stateful } from '../ui/status'
import { CurveCard, type Line } from '../screens/workload/curves'
import { bestOf, better, metricsOf } from './reported'
import { phrase, T } from '../texts'

/** One try; given are the values in which tries differ. */
export interface Trial { id: string; name: string; to: string; given: Record<string, unknown>; state?: string; of?: Stateful; series: ReportedSeries[] }

const listed = 100 // rows at once
const columns = 5 // numbers that have a column each

const text = (v: unknown): string => (v === undefined || v === null ? '–' : typeof v === 'object' ? JSON.stringify(v) : String(v))

/** The newest series of a number of a try. */
const seriesOf = (t: Trial, metric: string): ReportedSeries | undefined => t.series.filter((s) => s.metric === metric).at(-1)

/** The best value of a number over all attempts; where nobody can tell what is better, the last. */
export function valueOf(t: Trial, metric: string): number | undefined {
  const way = better(metric)
  const all = t.series.filter((s) => s.metric === metric)
  if (all.length === 0) return undefined
  if (way === 0) return all[all.length - 1]!.last
  const vs = all.map((s) => bestOf(s, way)[0])
  return way > 0 ? Math.max(...vs) : Math.min(...vs)
}

/** Tries in the order of a number, the best first; those that say nothing of it come last. */
export function ranked(all: Trial[], metric: string, down = better(metric) > 0): Trial[] {
  const v = (t: Trial): number => valueOf(t, metric) ?? NaN
  return [...all].sort((a, b) => {
    const [x, y] = [v(a), v(b)]
    return Number.isNaN(x) || Number.isNaN(y) ? Number(Number.isNaN(x)) - Number(Number.isNaN(y)) : down ? y - x : x - y
  })
}

export function Trials({ title, all, file, missing = [] }: { title: string; all: Trial[]; file: string; missing?: string[] }) {
  const long = (g: string): boolean => all.some((t) => text(t.given[g]).length > 24)
  const given = [...new Set(all.flatMap((t) => Object.keys(t.given)))].sort((a, b) => Number(long(a)) - Number(long(b)) || (a < b ? -1 : 1)) // commands come last
  const [brief, rest] = [given.filter((g) => !long(g)), given.filter(long)]
  const axes = brief.slice(0, 7)
  const metrics = metricsOf(all.flatMap((t) => t.series)).filter((m) => !given.includes(m)) // what was given needs no second column
  const [wanted, want] = useState('')
  const [open, setOpen] = useState(false)
  const [at, look] = useState('')
  const by = metrics.includes(wanted) || given.includes(wanted) ? wanted : metrics[0] ?? ''
  const order = given.includes(by)
    ? [...all].sort((a, b) => { const [x, y] = [a.given[by], b.given[by]]; return typeof x === 'number' && typeof y === 'number' ? x - y : text(x).localeCompare(text(y)) })
    : ranked(all, by)
  const target = metrics.includes(by) ? by : metrics[0]
  const shown = metrics.slice(0, columns)
  const best = new Map(shown.filter((m) => better(m) !== 0).map((m) => [m, ranked(all, m)[0]?.id]))
  const hue = new Map((target ? ranked(all, target) : all).map((t, i) => [t.id, i]))
  const lines = order.flatMap((t) => t.series.filter((s) => s.metric).map((s): Line => ({ s, id: t.id, name: t.name, hue: hue.get(t.id)!, faint: at !== '' && at !== t.id })))
  const head = (id: string, end: boolean) => (
    <th key={id} scope="col" class={end ? 'end' : ''} aria-sort={by === id ? (given.includes(id) || better(id) <= 0 ? 'ascending' : 'descending') : undefined}><button type="button" class="trial-by" onClick={() => want(id)}>{id}{by === id && (better(id) > 0 && !given.includes(id) ? ' ↓' : ' ↑')}</button></th>
  )
  return (
    <>
      <Card class="wide trials" title={title} aside={
        <Button kind="quiet" icon="download" aria-label={T.$downloadAsCSV} onClick={() => saveText(`${file}.csv`, 'text/csv', csv([['name', ...given, ...metrics], ...order.map((t) => [t.name, ...given.map((g) => text(t.given[g])), ...metrics.map((m) => String(valueOf(t, m) ?? ''))])]))} />
      }>
        {target && axes.length > 0 && order.length > 2 && <Parallel all={ranked(all, target)} given={axes} metric={target} at={at} look={look} />}
        <div class="scroll-x" tabIndex={0} role="region" aria-label={title}>
          <table class="plain">
            <thead><tr><th scope="col">{T.$name}</th><th scope="col">{T.$state}</th>{brief.map((g) => head(g, false))}{shown.map((m) => head(m, true))}{rest.map((g) => head(g, false))}</tr></thead>
            <tbody>{order.slice(0, open ? undefined : listed).map((t) => (
              <tr key={t.id} data-at={at === t.id || undefined} onPointerEnter={() => look(t.id)} onPointerLeave={() => look('')}>
                <td><Link to={t.to} class="row-link">{t.name}</Link></td>
                <td>{t.of ? <Status of={t.of} plain /> : t.state ? <TaskStatus state={t.state} /> : '–'}</td>
                {brief.map((g) => <td key={g}>{text(t.given[g])}</td>)}
                {shown.map((m) => {
                  const v = valueOf(t, m)
                  const s = seriesOf(t, m)
                  return <td key={m} class="end" title={s && better(m) !== 0 ? phrase(T.$lastValue, { value: short(s.last) }) : undefined}>{v === undefined ? '–' : best.get(m) === t.id ? <b class="best">{short(v)}<span class="sr"> {T.$best}</span></b> : short(v)}</td>
                })}
                {rest.map((g) => <td key={g}><span class="clip trial-long" title={text(t.given[g])}>{text(t.given[g])}</span></td>)}
              </tr>
            ))}</tbody>
          </table>
        </div>
        <p class="muted">{metrics.length === 0 ? T.$nothingWasReported : T.$bestOverAllSteps}{order.length > listed && !open && <> <button type="button" class="link" onClick={() => setOpen(true)}>{phrase(T.$showAllN, { n: count(order.length) })}</button></>}</p>
      </Card>
      {metrics.length > 0 && <CurveCard title={T.$reported} file={file} lines={lines} missing={missing} keyed={order.length <= 12} />}
    </>
  )
}

const [height, top, edge] = [210, 34, 58]

/** Each try as a line through what it was given, to what came of it: where good ones come from is seen. */
function Parallel({ all, given, metric, at, look }: { all: Trial[]; given: string[]; metric: string; at: string; look: (id: string) => void }) {
  const [box, width] = useWidth<HTMLDivElement>()
  const drawn = all.filter((t) => valueOf(t, metric) !== undefined).slice(0, 400)
  const axes = [...given.map((g) => axis(drawn.map((t) => t.given[g]))), axis(drawn.map((t) => valueOf(t, metric)))]
  const names = [...given, metric]
  const x = (i: number): number => edge + (i / Math.max(1, names.length - 1)) * (width - 2 * edge)
  const y = (part: number): number => top + (1 - part) * (height - top - 12)
  const best = drawn[0]?.id
  return (
    <div class="parallel" ref={box}>
      {width > 0 && drawn.length > 1 && (
        <svg width={width} height={height} role="img" aria-label={phrase(T.$eachTryAsALineToMetric, { metric })}>
          {[...drawn].reverse().map((t, n) => {
            const vs = [...given.map((g) => t.given[g]), valueOf(t, metric)]
            const d = vs.map((v, i) => `${i ? 'L' : 'M'}${x(i).toFixed(1)} ${y(axes[i]!.of(v)).toFixed(1)}`).join('')
            return <path key={t.id} class="try" data-best={t.id === best || undefined} data-at={t.id === at || undefined} style={{ opacity: t.id === at || (t.id === best && !at) ? 1 : at ? 0.12 : 0.15 + 0.6 * ((n + 1) / drawn.length) ** 2 }} d={d} onPointerEnter={() => look(t.id)} onPointerLeave={() => look('')}><title>{t.name}</title></path>
          })}
          {names.map((name, i) => (
            <g key={name}>
              <path class="axis" d={`M${x(i)} ${top}V${height - 12}`} />
              <text class="axis-name" x={x(i)} y="13" text-anchor={i === 0 ? 'start' : i === names.length - 1 ? 'end' : 'middle'} dx={i === 0 ? -edge + 2 : i === names.length - 1 ? edge - 2 : 0}>{name}</text>
              {axes[i]!.ticks.map((t) => <text key={t.text} x={x(i) + (i === names.length - 1 ? 7 : -7)} y={y(t.at) + 4} text-anchor={i === names.length - 1 ? 'start' : 'end'}>{t.text}</text>)}
            </g>
          ))}
        </svg>
      )}
    </div>
  )
}

interface Axis { of: (v: unknown) => number; ticks: { at: number; text: string }[] }

/** An axis that fits values: numbers on a scale, by powers where they span two of ten; words one above the other. */
function axis(vs: unknown[]): Axis {
  const numbers = vs.filter((v): v is number => typeof v === 'number' && Number.isFinite(v))
  const kinds = [...new Set(vs.map(text))]
  if (numbers.length < vs.length || kinds.length === 1) {
    const at = (s: string): number => (kinds.length === 1 ? 0.5 : kinds.indexOf(s) / (kinds.length - 1))
    return { of: (v) => at(text(v)), ticks: kinds.slice(0, 12).map((s) => ({ at: at(s), text: s.length > 9 ? s.slice(0, 8) + '…' : s })) }
  }
  const [lo, hi] = [Math.min(...numbers), Math.max(...numbers)]
  const powers = lo > 0 && hi / lo >= 20
  const f = (v: number): number => (powers ? Math.log(v) : v)
  const of = (v: unknown): number => (f(v as number) - f(lo)) / (f(hi) - f(lo) || 1)
  const few = [...new Set(numbers)].sort((a, b) => a - b)
  const marks = few.length <= 6 ? few : [0, 0.25, 0.5, 0.75, 1].map((p) => (powers ? Math.exp(f(lo) + p * (f(hi) - f(lo))) : lo + p * (hi - lo)))
  return { of, ticks: marks.map((v) => ({ at: of(v), text: short(Number(v.toPrecision(3))) })) }
}
