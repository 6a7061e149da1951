// Tries of the same thing with other values: tasks of a sweep, or workloads side by
// side. What each was given, what came of it, and which did best.
import { useRef, useState } from 'preact/hooks'
import { count } from '../lib/format'
import { SaveChart } from '../ui/savechart'
import { csv, saveText } from '../lib/save'
import { Button, Card, Link, useWidth } from '../ui/basics'
import { short } from '../ui/curve'
import { Status, TaskStatus } from '../ui/status'
import { CurveCard, type Line } from '../screens/workload/curves'
import { metricsOf } from './reported'
import { bestIn, Columns, columnsOf, shownOf, sorted, type Column } from './trialcolumns'
import { ranked, text, valueOf, type Trial } from './trialvalues'
import { phrase, T } from '../texts'

const listed = 100 // rows at once

export function Trials({ title, all, file, missing = [] }: { title: string; all: Trial[]; file: string; missing?: string[] }) {
  const columns = columnsOf(all)
  const shown = shownOf(columns)
  const metrics = metricsOf(all.flatMap((t) => t.series)).filter((m) => columns.some((c) => c.id === m))
  const [wanted, want] = useState('')
  const [open, setOpen] = useState(false)
  const [at, look] = useState('')
  const by = shown.find((c) => c.id === wanted) ?? shown.find((c) => c.id === metrics[0])
  const order = sorted(all, by)
  const target = by && metrics.includes(by.group) ? by.group : metrics[0]
  const axes = [...new Set(all.flatMap((t) => Object.keys(t.given)))].filter((g) => all.every((t) => text(t.given[g]).length <= 24)).sort().slice(0, 7)
  const best = bestIn(all, shown)
  const hue = new Map((target ? ranked(all, target) : all).map((t, i) => [t.id, i]))
  const lines = order.flatMap((t) => t.series.filter((s) => s.metric).map((s): Line => ({ s, id: t.id, name: t.name, hue: hue.get(t.id)!, faint: at !== '' && at !== t.id })))
  const save = (): void => saveText(`${file}.csv`, 'text/csv', csv([['name', 'state', ...shown.map((c) => c.title)], ...order.map((t) => [t.name, t.of?.phase ?? t.state ?? '', ...shown.map((c) => c.csv(t))])]))
  const head = (c: Column) => (
    <th key={c.id} scope="col" class={c.end ? 'end' : ''} aria-sort={by === c ? (c.way > 0 ? 'descending' : 'ascending') : undefined}><button type="button" class="trial-by" onClick={() => want(c.id)}>{c.title}{by === c && (c.way > 0 ? ' ↓' : ' ↑')}</button></th>
  )
  return (
    <>
      <Card class="wide trials" title={title} aside={<div class="curves-tools"><Columns all={columns} />{target && axes.length > 0 && order.length > 2 && <SaveChart of={title} file={file} />}<Button kind="quiet" icon="download" aria-label={T.$downloadAsCSV} onClick={save} /></div>}>
        {target && axes.length > 0 && order.length > 2 && <Parallel all={ranked(all, target)} given={axes} metric={target} at={at} look={look} />}
        <div class="scroll-x" tabIndex={0} role="region" aria-label={title}>
          <table class="plain">
            <thead><tr><th scope="col">{T.$name}</th><th scope="col">{T.$state}</th>{shown.map(head)}</tr></thead>
            <tbody>{order.slice(0, open ? undefined : listed).map((t) => (
              <tr key={t.id} data-at={at === t.id || undefined} onPointerEnter={() => look(t.id)} onPointerLeave={() => look('')}>
                <td><Link to={t.to} class="row-link">{t.name}</Link></td>
                <td>{t.of ? <Status of={t.of} plain /> : t.state ? <TaskStatus state={t.state} /> : '–'}</td>
                {shown.map((c) => <td key={c.id} class={c.end ? 'end' : ''} title={said(t, c)}>{best.get(c.id)?.has(t.id) ? <b class="best">{c.show(t)}<span class="sr"> {T.$best}</span></b> : c.show(t)}</td>)}
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

/** The last value beside the best. */
function said(t: Trial, c: Column): string | undefined {
  const last = c.id === c.group && c.way !== 0 ? valueOf(t, c.group, 'last') : undefined
  return last === undefined ? undefined : phrase(T.$lastValue, { value: short(last) })
}

const [height, top, edge] = [210, 34, 58]
const grip = 14 // px beside an axis at which it is dragged over
const near = 4 // px beside a stretch at which a value is of it: nobody ends at the very end of an axis

/** What somebody has dragged over on an axis: tries whose value there is among these are seen, and the axes fit them. */
interface Drag { axis: number; from: number; to: number }
interface Stretch { axis: number; has: (v: unknown) => boolean }

/**
 * Each try as a line through what it was given, to what came of it: where good ones come
 * from is seen. A stretch that is dragged over on an axis is looked at alone, one after
 * the other; Esc, a double click or the button shows all again.
 */
function Parallel({ all, given, metric, at, look }: { all: Trial[]; given: string[]; metric: string; at: string; look: (id: string) => void }) {
  const [box, width] = useWidth<HTMLDivElement>()
  const [within, setWithin] = useState<Stretch[]>([])
  const [drag, draw] = useState<Drag | null>(null)
  const held = useRef<Drag | null>(null) // by the events, which may come faster than it is drawn
  const hold = (d: Drag | null): void => draw((held.current = d))
  const values = (t: Trial): unknown[] => [...given.map((g) => t.given[g]), valueOf(t, metric)]
  const drawn = all.filter((t) => valueOf(t, metric) !== undefined && within.every((s) => s.has(values(t)[s.axis]))).slice(0, 400)
  const axes = [...given.map((g) => axis(drawn.map((t) => t.given[g]))), axis(drawn.map((t) => valueOf(t, metric)))]
  const names = [...given, metric]
  const x = (i: number): number => edge + (i / Math.max(1, names.length - 1)) * (width - 2 * edge)
  const y = (part: number): number => top + (1 - part) * (height - top - 12)
  const best = drawn[0]?.id
  const whole = (): void => setWithin([])
  const point = (e: PointerEvent): [number, number] => {
    const r = box.current!.getBoundingClientRect()
    return [e.clientX - r.left, Math.max(top, Math.min(height - 12, e.clientY - r.top))]
  }
  const end = (): void => {
    const drag = held.current
    hold(null)
    if (!drag || Math.abs(drag.to - drag.from) < 6) return
    const part = (v: number): number => 1 - (v - top) / (height - top - 12)
    const [lo, hi] = [part(Math.max(drag.from, drag.to) + near), part(Math.min(drag.from, drag.to) - near)]
    const kept = drawn.map((t) => values(t)[drag.axis]).filter((v) => axes[drag.axis]!.of(v) >= lo && axes[drag.axis]!.of(v) <= hi)
    if (kept.length === 0) return
    const numbers = kept.filter((v): v is number => typeof v === 'number')
    const words = new Set(kept.map(text))
    const [least, most] = [Math.min(...numbers), Math.max(...numbers)]
    setWithin([...within, { axis: drag.axis, has: numbers.length === kept.length ? (v) => typeof v === 'number' && v >= least && v <= most : (v) => words.has(text(v)) }])
  }
  return (
    <div class="parallel" ref={box} onKeyDown={(e) => { if (e.key === 'Escape' && within.length > 0) { whole(); e.stopPropagation() } }}>
      {within.length > 0 && <p class="parallel-within"><span class="muted">{phrase(T.$someOfAllTries, { some: count(drawn.length), all: count(all.length) })}</span> <button type="button" class="link" onClick={whole}>{T.$wholeRange}</button></p>}
      {width > 0 && (drawn.length > 1 || within.length > 0) && (
        <svg onDblClick={whole} onPointerDown={(e) => {
          const [px, py] = point(e)
          const axis = names.findIndex((_, i) => Math.abs(x(i) - px) < grip)
          if (axis < 0 || e.button !== 0) return
          e.currentTarget.setPointerCapture(e.pointerId)
          e.preventDefault()
          hold({ axis, from: py, to: py })
        }} onPointerMove={(e) => held.current && hold({ ...held.current, to: point(e)[1] })} onPointerUp={end} onPointerCancel={() => hold(null)}
          width={width} height={height} role="img" aria-label={phrase(T.$eachTryAsALineToMetric, { metric })}>
          {[...drawn].reverse().map((t, n) => {
            const d = values(t).map((v, i) => `${i ? 'L' : 'M'}${x(i).toFixed(1)} ${y(axes[i]!.of(v)).toFixed(1)}`).join('')
            return <path key={t.id} class="try" data-best={t.id === best || undefined} data-at={t.id === at || undefined} style={{ opacity: t.id === at || (t.id === best && !at) ? 1 : at ? 0.12 : 0.15 + 0.6 * ((n + 1) / drawn.length) ** 2 }} d={d} onPointerEnter={() => look(t.id)} onPointerLeave={() => look('')}><title>{t.name}</title></path>
          })}
          {names.map((name, i) => (
            <g key={name}>
              <path class="axis" d={`M${x(i)} ${top}V${height - 12}`} />
              <rect class="axis-grip" x={x(i) - grip} y={top} width={2 * grip} height={height - top - 12} />
              {drag?.axis === i && <rect class="dragged" x={x(i) - grip / 2} y={Math.min(drag.from, drag.to)} width={grip} height={Math.abs(drag.to - drag.from)} />}
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
