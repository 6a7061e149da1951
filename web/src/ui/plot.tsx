// Curves and columns over time, as small pictures that are drawn here. Each has a
// table that says the same.
import './plot.css'
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import type { MetricSeries } from '../api/types'
import { now } from '../lib/clock'
import { moment } from '../lib/format'
import { place } from '../lib/router'
import { useWidth } from './basics'
import { useZoom, type Range } from './zoom'
import { locale, phrase, T } from '../texts'

/** strong: to be seen before all others. A look is for lines that are not told apart by their colour alone. */
export interface Line { id: string; name: string; values: (number | null)[]; strong?: boolean; look?: Look; /** Which of the colors it has, and from 8 on broken, where its place does not say it. */ hue?: number }
export type Look = 'main' | 'area' | 'thin' | 'limit' | 'idle'

/** Something that happened at one moment, drawn as a shape of its kind; where there is no room for all, the weightiest. */
export interface Moment { at: number; kind: string; weight: number; shape: string; text: string }

/** Where the pointer is, as a time: all plots of a page show the same. */
export const cross = signal<number | null>(null)

/** Which stretch of time the plots of a page show, and of which page that is. */
const zoomed = signal<{ of: string; range: Range } | null>(null)
const pageNow = (): string => place.value.path
/** The stretch that somebody looks at on this page, as far as a plot has it. */
export const stretchOf = (from: number, to: number): Range | null => {
  const z = zoomed.value
  return z && z.of === pageNow() && z.range[1] > from && z.range[0] < to ? [Math.max(from, z.range[0]), Math.min(to, z.range[1])] : null
}
export const showStretch = (z: Range | null): void => {
  zoomed.value = z && { of: pageNow(), range: z }
}

/** A round number that is not below n, and how many steps lead there. */
export function top(n: number, binary = false): [number, number] {
  if (!(n > 0)) return [1, 2]
  const unit = binary ? 1024 ** Math.floor(Math.log(n) / Math.log(1024)) : 1
  const v = n / unit
  const size = 10 ** Math.floor(Math.log10(v))
  for (const [m, steps] of [[1, 2], [1.5, 3], [2, 2], [3, 3], [4, 4], [5, 5], [6, 3], [8, 4], [10, 2]] as const) {
    if (m * size >= v * 0.999) return [m * size * unit, steps]
  }
  return [10 * size * unit, 2]
}

export const days = 2 * 86400_000 // what is longer is told in days
const clockSteps = [10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600]

/** Times between two at which there is a mark; about as many as there is room for. */
export function times(from: number, to: number, width: number): number[] {
  const want = Math.max((to - from) / 1000 / Math.max(1, width / 96), to - from > days ? 86400 : 0)
  const step = (clockSteps.find((s) => s >= want) ?? 2592000) * 1000
  const zone = new Date(from).getTimezoneOffset() * 60_000
  const out: number[] = []
  for (let t = Math.ceil((from - zone) / step) * step + zone; t <= to && out.length < 40; t += step) out.push(t)
  return out
}

/** A time as short as the length of the whole allows. */
export function mark(t: number, length: number): string {
  const d = new Date(t)
  if (length > days) return d.toLocaleDateString(locale, { day: 'numeric', month: 'short' })
  const two = (n: number): string => String(n).padStart(2, '0')
  return `${two(d.getHours())}:${two(d.getMinutes())}${length < 300_000 ? ':' + two(d.getSeconds()) : ''}`
}

/** A path through what is known; where nothing is, it is broken off. */
export function through(values: (number | null)[], x: (i: number) => number, y: (v: number) => number): string {
  let d = ''
  let on = false
  values.forEach((v, i) => {
    if (v === null) {
      if ((values[i + 1] ?? null) === null) on = false // one step may be missed
      return
    }
    const alone = !on && (values[i + 1] ?? null) === null && (values[i + 2] ?? null) === null
    d += `${on ? 'L' : 'M'}${x(i).toFixed(1)} ${y(v).toFixed(1)}` + (alone ? 'h1.5' : '')
    on = true
  })
  return d
}

export const left = 52
export const foot = 20

interface PlotProps { label: string; from: number; step: number; lines: Line[]; /** Of a value, or of one on an axis with such steps. */ format: (v: number, step?: number) => string; most?: number; binary?: boolean; height?: number; band?: boolean; shown?: ReadonlySet<string> | null; moments?: Moment[]; /** Begin where something is known. */ young?: boolean }

const fewest = 30 // steps that are shown of what is young

/** Curves, with a crosshair that arrow keys move too. With band, and many of them, most are drawn as the range that they fill. */
export function Plot({ label, from: asked, step, lines: whole, format, most, binary = false, height = 150, band = false, shown = null, moments = [], young = false }: PlotProps) {
  const [box, width] = useWidth<HTMLDivElement>()
  const steps = Math.max(0, ...whole.map((l) => l.values.length))
  const skip = young ? Math.max(0, Math.min(steps - fewest, ...whole.map((l) => l.values.findIndex((v) => v !== null)).filter((i) => i >= 0))) : 0
  const all: Range = [asked + skip * step * 1000, asked + steps * step * 1000]
  const stretch = stretchOf(...all)
  const [first, end] = stretch ? [Math.floor((stretch[0] - asked) / 1000 / step), Math.ceil((stretch[1] - asked) / 1000 / step)] : [skip, steps]
  const lines = first > 0 || end < steps ? whole.map((l) => ({ ...l, values: l.values.slice(first, end) })) : whole
  const from = asked + first * step * 1000
  const count = end - first
  const to = from + count * step * 1000
  const seen = lines.flatMap((l) => l.values).filter((v): v is number => v !== null)
  const [max, rules] = most !== undefined ? [most, 2] : top(Math.max(0, ...seen), binary)
  const room = Math.max(40, width - left - 8)
  const { drag, ...zoom } = useZoom({ whole: all, seen: [from, to], zoomed: !!stretch, left, room, least: 4 * step * 1000, set: showStretch })
  const x = (i: number): number => left + ((i + 0.5) / Math.max(1, count)) * room
  const noted = moments.filter((m) => m.at >= from && m.at <= to)
  const head = noted.length > 0 ? 18 : 8
  const y = (v: number): number => head + (1 - Math.min(1, v / max)) * (height - foot - head)
  const xt = (t: number): number => left + ((t - from) / (to - from)) * room
  const many = band && lines.length > 8
  const at = cross.value !== null && cross.value >= from && cross.value < to ? Math.floor((cross.value - from) / 1000 / step) : -1
  const drawn = many ? [middle(lines, count), ...lines.filter((l) => l.strong || shown?.has(l.id))] : lines
  const rows = at < 0 ? [] : (many ? [...summary(lines, at), ...drawn.slice(1).map((l): [Line, number | null] => [l, l.values[at] ?? null])] : drawn.map((l): [Line, number | null] => [l, l.values[at] ?? null]))
    .filter((r): r is [Line, number] => r[1] !== null).slice(0, 9)
  const dye = (l: Line) => (l.look ? { 'data-look': l.look } : { 'data-l': l.strong ? 'bad' : hueOf(l) % 8 })
  const hueOf = (l: Line): number => l.hue ?? lines.indexOf(l)
  const when = moment(from + at * step * 1000, now.peek())
  const near = at < 0 ? [] : noted.filter((m) => Math.abs(xt(m.at) - x(at)) <= Math.max(6, room / Math.max(1, count) / 2))
  return (
    <div class="plot-frame" ref={box} role="group" tabIndex={0} aria-label={phrase(T.$labelUseTheArrowKeysToRead, { label })} onPointerLeave={() => { cross.value = null; zoom.left() }} {...zoom.on} onBlur={() => (cross.value = null)}
      onKeyDown={(e) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key]
        if (zoom.key(e, cross.value)) cross.value = null
        else if (by) cross.value = from + (Math.max(0, Math.min(count - 1, (at < 0 ? count : at) + by)) + 0.5) * step * 1000
        else if (e.key === 'Escape' && at >= 0) cross.value = null
        else return
        e.preventDefault()
        e.stopPropagation()
      }}
      onPointerMove={(e) => {
        const px = e.clientX - e.currentTarget.getBoundingClientRect().left - left
        cross.value = px >= 0 && px <= room ? from + (px / room) * (to - from) : null
        zoom.moved(e)
      }}>
      {width > 0 && (
        <svg width={width} height={height} role="img" aria-label={phrase(T.$labelTheTableBelowShowsThe, { label })}>
          {Array.from({ length: rules + 1 }, (_, i) => (max / rules) * i).map((v) => (
            <g key={v} class="rule"><path d={`M${left} ${y(v)}H${left + room}`} /><text x={left - 7} y={y(v) + 4} text-anchor="end">{format(v, max / rules)}</text></g>
          ))}
          {times(from, to, room).map((t) => {
            const px = xt(t)
            return px > left + 14 && px < width - 24 ? <text key={t} x={px} y={height - 4} text-anchor="middle">{mark(t, to - from)}</text> : null
          })}
          {many && <path class="band" d={range(lines, count, x, y)} />}
          {drawn.map((l) => l.look === 'area' && <path key={l.id} class="under" d={range([l, { ...l, values: l.values.map((v) => v && 0) }], count, x, y)} />)}
          {drawn.map((l) => (
            <path key={l.id} class="line" {...dye(l)} data-strong={l.strong || undefined} data-dim={shown && shown.size > 0 && !shown.has(l.id) && !l.strong || undefined} d={through(l.values, x, y)} stroke-dasharray={!l.strong && !l.look && hueOf(l) % 16 > 7 ? '5 3' : undefined} />
          ))}
          {noted.filter((m, i) => !noted.some((o, k) => Math.abs(xt(o.at) - xt(m.at)) < 9 && (o.weight > m.weight || (o.weight === m.weight && k > i)))).map((m) => (
            <g key={m.kind + m.at} class="plot-mark milestone" data-kind={m.kind} transform={`translate(${xt(m.at).toFixed(1)} 8)`}><title>{`${m.text}, ${moment(m.at, now.peek())}`}</title><line y1="6" y2={height - foot - 8} /><path d={m.shape} /></g>
          ))}
          {drag && <rect class="dragged" x={Math.min(...drag)} y={head} width={Math.abs(drag[1] - drag[0])} height={height - foot - head} />}
          {at >= 0 && <path class="cross" d={`M${x(at)} ${head}V${height - foot}`} />}
          {at >= 0 && drawn.map((l) => l.look !== 'thin' && l.values[at] !== null && l.values[at] !== undefined && <circle key={l.id} class="point" {...dye(l)} cx={x(at)} cy={y(l.values[at]!)} r="2.5" />)}
        </svg>
      )}
      {rows.length + near.length > 0 && (
        <div class="plot-tip" style={x(at) > width / 2 ? { right: width - x(at) + 10 + 'px' } : { left: x(at) + 10 + 'px' }}>
          <b>{when}</b>
          {near.map((m) => <p key={m.kind + m.at}>{m.text}</p>)}
          {rows.map(([l, v]) => <div key={l.id}><span>{l.name}</span><span>{format(v)}</span></div>)}
        </div>
      )}
      {stretch && <button type="button" class="plot-whole" onClick={() => showStretch(null)}>{T.$wholeRange}</button>}
      <span class="sr" role="status">{at >= 0 && document.activeElement === box.current && `${when}: ${[...near.map((m) => m.text), ...rows.map(([l, v]) => `${l.name} ${format(v)}`)].join(', ') || T.$notMeasured}`}</span>
    </div>
  )
}

/** A line through the medians: what is seen where ranks are in step and their range has no width. */
const middle = (lines: Line[], count: number): Line => ({ id: 'median', name: T.$median, look: 'main', values: Array.from({ length: count }, (_, i) => summary(lines, i)[1]![1]) })

/** Least, middle and most of all lines at one step. */
function summary(lines: Line[], at: number): [Line, number | null][] {
  const all = lines.map((l) => l.values[at] ?? null).filter((v): v is number => v !== null).sort((a, b) => a - b)
  const of = (id: string, name: string, v: number | undefined): [Line, number | null] => [{ id, name, values: [] }, v ?? null]
  return [of('most', T.$most, all[all.length - 1]), of('median', T.$median, all[all.length >> 1]), of('least', T.$least, all[0])]
}

/** The outline of what lines fill. */
function range(lines: Line[], count: number, x: (i: number) => number, y: (v: number) => number): string {
  let d = ''
  let up: string[] = []
  let down: string[] = []
  const close = (): void => {
    if (up.length > 0) d += 'M' + [...up, ...down.reverse()].join('L') + 'Z'
    up = []
    down = []
  }
  for (let i = 0; i < count; i++) {
    const all = lines.map((l) => l.values[i] ?? null).filter((v): v is number => v !== null)
    if (all.length === 0) {
      close()
      continue
    }
    up.push(`${x(i).toFixed(1)} ${y(Math.max(...all)).toFixed(1)}`)
    down.push(`${x(i).toFixed(1)} ${y(Math.min(...all)).toFixed(1)}`)
  }
  close()
  return d
}

/** The numbers of series as rows of a twin: the last, mean, least and most. */
export const figures = (of: { name: string; of: MetricSeries }[], format: (v: number) => string): string[][] =>
  of.map(({ name, of: s }) => [name, ...[s.last, s.mean, s.min, s.max].map((v) => (v === undefined || v === null ? '–' : format(v)))])

/** Lines over time as rows of a table, a column each. */
export const rowsOfLines = (from: number, step: number, lines: Pick<Line, 'name' | 'values'>[]): (string | number)[][] => [
  ['time', ...lines.map((l) => l.name)],
  ...Array.from({ length: Math.max(0, ...lines.map((l) => l.values.length)) }, (_, i) => [new Date(from + i * step * 1000).toISOString(), ...lines.map((l) => l.values[i] ?? '')]),
]

/** Stretches of time that can be chosen. */
export const stretches = ['15m', '1h', '6h', '24h'] as const

/** Buttons that choose one; it is kept by whoever shows them. */
export function Stretches({ chosen, choose }: { chosen: string; choose: (s: string) => void }) {
  return <div class="segments small" role="group" aria-label={T.$timeRange}>{stretches.map((s) => <button key={s} type="button" aria-pressed={s === chosen} onClick={() => choose(s)}>{s}</button>)}</div>
}

/** What the lines or parts are, each to be looked at alone. quiet: those that are not chosen are not drawn, and have no color. */
export function Key({ of, chosen, choose, stroke = false, quiet = false }: { of: { id: string; name: string; strong?: boolean | undefined }[]; chosen: ReadonlySet<string>; choose: (id: string) => void; stroke?: boolean; quiet?: boolean }) {
  return (
    <div class="plot-key" role="group" aria-label={T.$lines}>
      {of.map((o, i) => (
        <button key={o.id} type="button" aria-pressed={chosen.has(o.id)} onClick={() => choose(o.id)} data-l={o.strong ? 'bad' : i % 8}>{(!quiet || o.strong || chosen.has(o.id)) && <i class={stroke ? 'swatch stroke' : 'swatch'} data-broken={(stroke && !o.strong && i % 16 > 7) || undefined} aria-hidden="true" />}{o.name}</button>
      ))}
    </div>
  )
}

/** The table that says the same as a picture. */
export function Twin({ label, head, rows, children }: { label: string; head: string[]; rows: (string | number)[][]; children?: ComponentChildren }) {
  const id = useId()
  return (
    <details class="twin">
      <summary id={id}>{T.$asATable}</summary>
      {children}
      <div class="scroll-x" tabIndex={0} role="region" aria-label={label}>
        <table class="plain"><thead><tr>{head.map((h, i) => <th key={h} scope="col" class={i > 0 ? 'end' : ''}>{h}</th>)}</tr></thead>
          <tbody>{rows.map((r, i) => <tr key={i}>{r.map((c, n) => <td key={n} class={n > 0 ? 'end' : ''}>{c}</td>)}</tr>)}</tbody></table>
      </div>
    </details>
  )
}
