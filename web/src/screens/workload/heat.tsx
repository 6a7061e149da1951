// What each rank did over time, a strip each: who idles, and since when, is seen among
// a thousand. A strip leads to the log of its rank.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Metrics, MetricSeries, Workload } from '../../api/types'
import { now } from '../../lib/clock'
import { figure, moment, ms } from '../../lib/format'
import { go, workloadPath } from '../../lib/router'
import { Card, useWidth } from '../../ui/basics'
import { left, mark, times } from '../../ui/plot'
import { phrase, T } from '../../texts'

const least = 4 // ranks of which strips tell more than lines
const [thin, thick, tall] = [2, 14, 420] // pixels of a strip, and of all
const foot = 20

const percent = (v: number): string => `${Math.round(v * 100)} %`

interface Strip { task: number; name: string; node: string; values: (number | null)[] }

/** One strip of each rank: the mean of its GPUs, or its cores where it has none. */
export function strips(m: Metrics, metric: string): Strip[] {
  const by = new Map<number, MetricSeries[]>()
  for (const s of m.series) if (s.metric === metric && s.task !== undefined) by.set(s.task, [...(by.get(s.task) ?? []), s])
  return [...by].sort((a, b) => a[0] - b[0]).map(([task, all]) => ({
    task, name: `${all[0]!.role} ${task}`, node: all[0]!.node ?? '',
    values: Array.from({ length: Math.max(...all.map((s) => s.values.length)) }, (_, i) => {
      const vs = all.map((s) => s.values[i]).filter((v): v is number => v !== undefined && v !== null)
      return vs.length ? vs.reduce((a, b) => a + b, 0) / vs.length : null
    }),
  }))
}

export function Heat({ m, w, attempt }: { m: Metrics; w: Workload; attempt: number }) {
  const metric = m.series.some((s) => s.metric === 'gpu_utilization_ratio') ? 'gpu_utilization_ratio' : 'cpu_cores'
  const all = strips(m, metric)
  return all.length >= least ? <Board all={all} metric={metric} m={m} w={w} attempt={attempt} /> : null
}

function Board({ all, metric, m, w, attempt }: { all: Strip[]; metric: string; m: Metrics; w: Workload; attempt: number }) {
  const [box, width] = useWidth<HTMLDivElement>()
  const canvas = useRef<HTMLCanvasElement>(null)
  const [at, look] = useState<[number, number] | null>(null) // rank and step
  const count = Math.max(1, ...all.map((s) => s.values.length))
  const size = Math.max(thin, Math.min(thick, Math.floor(tall / Math.max(1, all.length))))
  const room = Math.max(40, width - left - 8)
  const height = all.length * size
  const top = metric === 'cpu_cores' ? Math.max(1e-9, ...all.flatMap((s) => s.values.map((v) => v ?? 0))) : 1
  const say = (v: number | null | undefined): string => (v === null || v === undefined ? T.$notMeasured : metric === 'cpu_cores' ? `${figure(v)} ${T.$cores}` : percent(v))
  useEffect(() => {
    const c = canvas.current
    if (!c || width === 0) return
    const scale = devicePixelRatio || 1
    c.width = room * scale
    c.height = height * scale
    const g = c.getContext('2d')!
    g.scale(scale, scale)
    const style = getComputedStyle(c)
    g.clearRect(0, 0, room, height)
    g.fillStyle = style.color
    all.forEach((s, r) => s.values.forEach((v, i) => {
      if (v === null) return
      g.globalAlpha = 0.08 + 0.92 * Math.min(1, v / top)
      g.fillRect((i / count) * room, r * size, room / count + 0.5, size > 3 ? size - 1 : size)
    }))
  })
  const from = ms(m.from)
  const to = from + count * m.stepSeconds * 1000
  const rank = at ? all[at[0]] : undefined
  const open = (s: Strip | undefined): void => {
    if (s) go(workloadPath(w.project, w.name, `logs&attempt=${attempt}&task=${s.task}`))
  }
  const hit = (e: { clientX: number; clientY: number; currentTarget: Element }): [number, number] => {
    const r = e.currentTarget.getBoundingClientRect()
    return [Math.max(0, Math.min(all.length - 1, Math.floor((e.clientY - r.top) / size))), Math.max(0, Math.min(count - 1, Math.floor(((e.clientX - r.left) / room) * count)))]
  }
  return (
    <Card class="wide" title={T.$eachRankOverTime} aside={metric === 'cpu_cores' ? phrase(T.$darkIsTop, { top: `${figure(top)} ${T.$cores}` }) : phrase(T.$darkIsTop, { top: '100 %' })}>
      <div class="heat" ref={box} role="group" tabIndex={0} aria-label={T.$eachRankUseTheArrowKeys} onBlur={() => look(null)}
        onKeyDown={(e) => {
          const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key]
          if (by) look([Math.max(0, Math.min(all.length - 1, (at?.[0] ?? 0) + (at ? by[0]! : 0))), Math.max(0, Math.min(count - 1, (at?.[1] ?? count - 1) + by[1]!))])
          else if (e.key === 'Enter' && rank) open(rank)
          else if (e.key === 'Escape' && at) look(null)
          else return
          e.preventDefault()
          e.stopPropagation()
        }}>
        {width > 0 && (
          <div class="heat-board" style={{ height: height + foot + 'px' }}>
            <canvas ref={canvas} class="heat-canvas" style={{ left: left + 'px', width: room + 'px', height: height + 'px' }} role="img" aria-label={T.$eachRankOverTime} onPointerMove={(e) => look(hit(e))} onPointerLeave={() => look(null)} onClick={(e) => open(all[hit(e)[0]])} />
            <svg width={width} height={height + foot} aria-hidden="true">
              {all.map((s, i) => size >= 11 && all.length <= 40 ? <text key={s.task} x={left - 7} y={i * size + size - 3} text-anchor="end">{s.task}</text> : i % Math.ceil(14 / size) === 0 && i % 10 === 0 && <text key={s.task} x={left - 7} y={i * size + 9} text-anchor="end">{s.task}</text>)}
              {times(from, to, room).map((t) => { const x = left + ((t - from) / (to - from)) * room; return x > left + 14 && x < width - 24 ? <text key={t} x={x} y={height + 15} text-anchor="middle">{mark(t, to - from)}</text> : null })}
              {at && <rect class="here" x={left + (at[1] / count) * room} y={at[0] * size} width={Math.max(2, room / count)} height={Math.max(3, size - 1)} />}
            </svg>
          </div>
        )}
      </div>
      <p class="muted matrix-said" role="status">{rank ? [rank.name, rank.node, moment(from + at![1] * m.stepSeconds * 1000, now.peek()), say(rank.values[at![1]])].filter(Boolean).join(' · ') : T.$clickARankForItsLog}</p>
    </Card>
  )
}
