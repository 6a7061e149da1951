// Curves over steps, with axes that fit what there is: losses fall towards nothing,
// rewards are below it, and neither is a part of a whole. All curves of a page share
// the pointer, and the stretch that somebody drags over one of them.
import { signal, type Signal } from '@preact/signals'
import { figure } from '../lib/format'
import { useWidth } from './basics'
import { foot, left } from './plot'
import { useZoom } from './zoom'
import { phrase, T } from '../texts'

export interface Trace { id: string; name: string; xs: number[]; ys: number[]; /** Which of eight colours. */ hue: number; faint?: boolean; /** It lies below its own mean, and is not told of. */ raw?: boolean }

/** What curves of one page share: where the pointer is, and which stretch is looked at. */
export interface Shared { at: Signal<number | null>; zoom: Signal<[number, number] | null> }
export const shared = (): Shared => ({ at: signal(null), zoom: signal(null) })

/** A number as short as it can be told. */
export const short = (v: number): string => {
  const a = Math.abs(v)
  if (a === 0) return '0'
  if (a < 1e-3 || a >= 1e7) return v.toExponential(2).replace(/\.?0+e\+?/, 'e')
  return figure(v, a / 100)
}

/** Round numbers from one to another, about as many as wanted. */
export function rounds(from: number, to: number, want: number): number[] {
  const raw = (to - from) / Math.max(1, want)
  if (!(raw > 0)) return [from]
  const size = 10 ** Math.floor(Math.log10(raw))
  const step = ([1, 2, 2.5, 5, 10].find((m) => m * size >= raw) ?? 10) * size
  const out: number[] = []
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9 && out.length < 30; i++) out.push(i * step)
  return out
}

/** Where among rising numbers one is that is nearest. */
export function nearest(xs: number[], x: number): number {
  let [a, b] = [0, xs.length - 1]
  while (b - a > 1) {
    const m = (a + b) >> 1
    if (xs[m]! < x) a = m
    else b = m
  }
  return b >= 0 && Math.abs(xs[b]! - x) < Math.abs(xs[a]! - x) ? b : a
}

const named = 8 // that the card beside the pointer tells

export function Curve({ label, traces, of, unit, log = false, height = 150 }: { label: string; traces: Trace[]; of: Shared; /** What the horizontal axis counts. */ unit: (v: number) => string; log?: boolean; height?: number }) {
  const [box, width] = useWidth<HTMLDivElement>()
  const all = traces.filter((t) => t.xs.length > 0)
  const whole: [number, number] = [Math.min(...all.map((t) => t.xs[0]!)), Math.max(...all.map((t) => t.xs[t.xs.length - 1]!))]
  const zoomed = of.zoom.value
  const [lo, hi] = zoomed && zoomed[1] > whole[0] && zoomed[0] < whole[1] ? zoomed : whole
  const logs = log && all.every((t) => t.ys.every((v) => v > 0))
  const scale = (v: number): number => (logs ? Math.log10(v) : v)
  const seen = all.flatMap((t) => t.ys.filter((_, i) => t.xs[i]! >= lo && t.xs[i]! <= hi)).map(scale)
  let [bottom, top] = [Math.min(...seen), Math.max(...seen)]
  if (!(top > bottom)) [bottom, top] = logs ? [bottom - 0.5, bottom + 0.5] : [bottom - Math.max(Math.abs(bottom) * 0.1, 1e-9), bottom + Math.max(Math.abs(bottom) * 0.1, 1e-9)]
  const air = (top - bottom) * 0.06
  const [y0, y1] = [bottom - air, top + air]
  const room = Math.max(40, width - left - 8)
  const x = (v: number): number => left + (hi > lo ? (v - lo) / (hi - lo) : 0.5) * room
  const y = (v: number): number => 8 + (1 - (scale(v) - y0) / (y1 - y0)) * (height - foot - 8)
  const { drag, ...zoom } = useZoom({ whole, seen: [lo, hi], zoomed: !!zoomed, left, room, least: (whole[1] - whole[0]) / 1000, set: (z) => (of.zoom.value = z) })
  const rules = rounds(y0, y1, 3).map((v) => (logs ? 10 ** v : v))
  const at = of.at.value !== null && of.at.value >= lo && of.at.value <= hi ? of.at.value : null
  const rows = at === null ? [] : all.filter((t) => !t.raw).map((t) => ({ t, i: nearest(t.xs, at) })).filter(({ t, i }) => t.xs[i] !== undefined && Math.abs(t.xs[i]! - at) <= Math.max(hi - lo, 1) / 12)
  const steps = [...new Set(all.flatMap((t) => t.xs))].filter((v) => v >= lo && v <= hi).sort((a, b) => a - b)
  const path = (t: Trace): string => {
    let d = ''
    t.xs.forEach((v, i) => {
      if ((t.xs[i + 1] ?? v) < lo || (t.xs[i - 1] ?? v) > hi) return
      d += `${d ? 'L' : 'M'}${x(v).toFixed(1)} ${y(t.ys[i]!).toFixed(1)}`
    })
    return t.xs.length === 1 ? d + 'h1.5' : d
  }
  const told = rows.slice(0, named).map(({ t, i }) => `${t.name} ${short(t.ys[i]!)}`)
  const clip = 'clip-' + label.replace(/\W/g, '-')
  return (
    <div class="plot-frame curve" ref={box} role="group" tabIndex={0} aria-label={phrase(T.$labelUseTheArrowKeysToRead, { label })}
      onBlur={() => (of.at.value = null)}
      onPointerLeave={() => { of.at.value = null; zoom.left() }} {...zoom.on}
      onPointerMove={(e) => {
        const px = e.clientX - e.currentTarget.getBoundingClientRect().left
        of.at.value = px >= left - 4 ? zoom.back(px) : null
        zoom.moved(e)
      }}
      onKeyDown={(e) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key]
        if (zoom.key(e, at)) of.at.value = null
        else if (by && steps.length > 0) of.at.value = steps[Math.max(0, Math.min(steps.length - 1, at === null ? (by < 0 ? steps.length - 1 : 0) : nearest(steps, at) + by))]!
        else if (e.key === 'Escape' && at !== null) of.at.value = null
        else return
        e.preventDefault()
        e.stopPropagation()
      }}>
      {width > 0 && seen.length > 0 && (
        <svg width={width} height={height} role="img" aria-label={phrase(T.$labelTheTableBelowShowsThe, { label })}>
          <clipPath id={clip}><rect x={left} y="0" width={room + 8} height={height} /></clipPath>
          {rules.map((v) => <g key={v} class="rule"><path d={`M${left} ${y(v).toFixed(1)}H${left + room}`} /><text x={left - 7} y={y(v) + 4} text-anchor="end">{short(v)}</text></g>)}
          {rounds(lo, hi, Math.max(1, room / 70)).filter(Number.isInteger).map((v) => x(v) > left + 8 && x(v) < width - 16 && <text key={v} x={x(v)} y={height - 4} text-anchor="middle">{short(v)}</text>)}
          <g clip-path={`url(#${clip})`}>
            {all.map((t) => <path key={t.id} class="line" data-l={t.hue % 8} data-dim={t.faint || undefined} stroke-dasharray={t.hue % 16 > 7 ? '5 3' : undefined} d={path(t)} />)}
          </g>
          {drag && <rect class="dragged" x={Math.min(...drag)} y="8" width={Math.abs(drag[1] - drag[0])} height={height - foot - 8} />}
          {at !== null && <path class="cross" d={`M${x(at).toFixed(1)} 8V${height - foot}`} />}
          {rows.map(({ t, i }) => t.xs[i]! >= lo && t.xs[i]! <= hi && <circle key={t.id} class="point" data-l={t.hue % 8} cx={x(t.xs[i]!)} cy={y(t.ys[i]!)} r="2.5" />)}
        </svg>
      )}
      {rows.length > 0 && (
        <div class="plot-tip" style={x(at!) > width / 2 ? { right: width - x(at!) + 10 + 'px' } : { left: x(at!) + 10 + 'px' }}>
          <b>{unit(rows[0]!.t.xs[rows[0]!.i]!)}</b>
          {rows.slice(0, named).map(({ t, i }) => <div key={t.id}><span>{t.name}</span><span>{short(t.ys[i]!)}</span></div>)}
        </div>
      )}
      <span class="sr" role="status">{at !== null && document.activeElement === box.current && `${unit(at)}: ${told.join(', ')}`}</span>
    </div>
  )
}
