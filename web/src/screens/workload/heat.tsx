// What each rank did over time, a strip each: who idles, and since when, is seen among
// a thousand. A strip leads to the log of its rank.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Metrics, Workload } from '../../api/types'
import { now } from '../../lib/clock'
import { moment, ms } from '../../lib/format'
import { remembered } from '../../lib/prefs'
import { go, workloadPath } from '../../lib/router'
import { Card, useWidth } from '../../ui/basics'
import { cross, left, mark, showStretch, stretchOf, times } from '../../ui/plot'
import { SaveChart } from '../../ui/savechart'
import { useZoom } from '../../ui/zoom'
import { useReportedIf } from '../../work/reported'
import { sorts, stepStrips, stepTime, strips, type Sort, type Strip } from './strips'
import { phrase, T } from '../../texts'

const least = 4 // ranks of which strips tell more than lines
const [thin, thick, tall] = [2, 14, 420] // pixels of a strip, and of all
const foot = 20

/** What was looked at last; this browser keeps it. */
const looked = remembered<string>('strips.of', '', (v): v is string => typeof v === 'string')

export function Heat({ m, w, attempt }: { m: Metrics; w: Workload; attempt: number }) {
  const steps = w.attempts.some((a) => a.index === attempt && a.step !== undefined) || (w.attempt === attempt && w.progress !== undefined)
  const sort = sorts.find((s) => s.id === looked.value && known(m, s.id, steps)) ?? sorts.find((s) => known(m, s.id, steps)) ?? sorts[0]!
  const { data } = useReportedIf(w, sort.id === stepTime)
  const all = sort.id === stepTime ? stepStrips(m, data?.series ?? [], attempt) : strips(m, sort.id)
  if (ranks(m) < least) return null
  return <Board all={all} sort={sort} m={m} w={w} attempt={attempt} choice={(
    <div class="segments small heat-of" role="group" aria-label={T.$show}>
      {sorts.filter((s) => !s.id.startsWith('gpu') || known(m, s.id, steps)).map((s) => <button key={s.id} type="button" aria-pressed={s === sort} aria-disabled={known(m, s.id, steps) ? undefined : true} title={known(m, s.id, steps) ? undefined : s.id === stepTime ? T.$noStepsReported : s.id.startsWith('network') ? T.$networkNotKnown : T.$notMeasured2} onClick={() => { if (known(m, s.id, steps)) looked.value = s.id }}>{s.title}</button>)}
    </div>
  )} />
}

const known = (m: Metrics, id: string, steps: boolean): boolean => (id === stepTime ? steps : m.series.some((s) => s.metric === id && s.task !== undefined))

const ranks = (m: Metrics): number => new Set(m.series.map((s) => s.task).filter((t) => t !== undefined)).size

function Board({ all: whole, sort, m, w, attempt, choice }: { all: Strip[]; sort: Sort; m: Metrics; w: Workload; attempt: number; choice: ComponentChildren }) {
  const [box, width] = useWidth<HTMLDivElement>()
  const canvas = useRef<HTMLCanvasElement>(null)
  const moved = useRef(false) // since the pointer went down: a stretch was meant, and no rank
  const [at, look] = useState<[number, number] | null>(null) // rank and step
  const cells = Math.max(1, ...whole.map((s) => s.values.length))
  const [begin, step] = [ms(m.from), m.stepSeconds * 1000]
  const ends: [number, number] = [begin, begin + cells * step]
  const stretch = stretchOf(...ends) // as the plots beside it
  const [first, last] = stretch ? [Math.floor((stretch[0] - begin) / step), Math.ceil((stretch[1] - begin) / step)] : [0, cells]
  const all = stretch ? whole.map((s) => ({ ...s, values: s.values.slice(first, last) })) : whole
  const count = last - first
  const from = begin + first * step
  const to = begin + last * step
  const size = Math.max(thin, Math.min(thick, Math.floor(tall / Math.max(1, all.length))))
  const room = Math.max(40, width - left - 8)
  const height = all.length * size
  const top = sort.top(whole.flatMap((s) => s.values.filter((v): v is number => v !== null)))
  const say = (v: number | null | undefined): string => (v === null || v === undefined ? (sort.id === stepTime ? T.$noStepThen : T.$notMeasured) : sort.say(v))
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
  const { drag, ...zoom } = useZoom({ whole: ends, seen: [from, to], zoomed: !!stretch, left, room, least: 4 * step, set: showStretch })
  const shared = !at && cross.value !== null && cross.value >= from && cross.value < to ? Math.floor((cross.value - from) / step) : -1
  if (drag && Math.abs(drag[1] - drag[0]) > 8) moved.current = true
  const point = (next: [number, number] | null): void => {
    look(next)
    cross.value = next ? from + (next[1] + 0.5) * step : null
  }
  const rank = at ? all[at[0]] : undefined
  const open = (s: Strip | undefined): void => {
    if (s) go(workloadPath(w.project, w.name, `logs&attempt=${attempt}&task=${s.task}`))
  }
  const hit = (e: { clientX: number; clientY: number; currentTarget: Element }): [number, number] => {
    const r = e.currentTarget.getBoundingClientRect()
    return [Math.max(0, Math.min(all.length - 1, Math.floor((e.clientY - r.top) / size))), Math.max(0, Math.min(count - 1, Math.floor(((e.clientX - r.left) / room) * count)))]
  }
  return (
    <Card class="wide" title={T.$eachRankOverTime} aside={<div class="curves-tools"><span>{phrase(T.$darkIsTop, { top: sort.say(top) })}</span><SaveChart of={T.$eachRankOverTime} file={`${w.name}-ranks-${sort.id}`} name={`${w.name}: ${sort.title}`} rows={() => table(whole, m)} /></div>}>
      {choice}
      {!m.series.some((s) => s.metric.startsWith('network')) && <p class="muted heat-note">{T.$network}: {T.$networkNotKnown}</p>}
      <div class="heat" ref={box} role="group" tabIndex={0} aria-label={T.$eachRankUseTheArrowKeys} onBlur={() => point(null)} {...zoom.on} onPointerMove={(e) => zoom.moved(e)} onPointerLeave={() => zoom.left()}
        onKeyDown={(e) => {
          const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key]
          if (zoom.key(e, cross.value)) point(null)
          else if (by) point([Math.max(0, Math.min(all.length - 1, (at?.[0] ?? 0) + (at ? by[0]! : 0))), Math.max(0, Math.min(count - 1, (at?.[1] ?? count - 1) + by[1]!))])
          else if (e.key === 'Enter' && rank) open(rank)
          else if (e.key === 'Escape' && at) point(null)
          else return
          e.preventDefault()
          e.stopPropagation()
        }}>
        {width > 0 && (
          <div class="heat-board" style={{ height: height + foot + 'px' }}>
            <canvas ref={canvas} class="heat-canvas" style={{ left: left + 'px', width: room + 'px', height: height + 'px' }} role="img" aria-label={T.$eachRankOverTime} onPointerMove={(e) => point(hit(e))} onPointerLeave={() => point(null)} onClick={(e) => { if (!moved.current) open(all[hit(e)[0]]) }} onPointerDown={() => (moved.current = false)} />
            <svg width={width} height={height + foot} aria-hidden="true">
              {all.map((s, i) => size >= 11 && all.length <= 40 ? <text key={s.task} x={left - 7} y={i * size + size - 3} text-anchor="end">{s.task}</text> : i % Math.ceil(14 / size) === 0 && i % 10 === 0 && <text key={s.task} x={left - 7} y={i * size + 9} text-anchor="end">{s.task}</text>)}
              {times(from, to, room).map((t) => { const x = left + ((t - from) / (to - from)) * room; return x > left + 14 && x < width - 24 ? <text key={t} x={x} y={height + 15} text-anchor="middle">{mark(t, to - from)}</text> : null })}
              {drag && <rect class="dragged" x={Math.min(...drag)} y="0" width={Math.abs(drag[1] - drag[0])} height={height} />}
              {shared >= 0 && <path class="cross" d={`M${(left + ((shared + 0.5) / count) * room).toFixed(1)} 0V${height}`} />}
              {at && <rect class="here" x={left + (at[1] / count) * room} y={at[0] * size} width={Math.max(2, room / count)} height={Math.max(3, size - 1)} />}
            </svg>
          </div>
        )}
      </div>
      <p class="muted matrix-said" role="status">{rank ? [rank.name, rank.node, moment(from + at![1] * m.stepSeconds * 1000, now.peek()), say(rank.values[at![1]])].filter(Boolean).join(' · ') : T.$clickARankForItsLog}</p>
    </Card>
  )
}

/** Every known cell as a line. */
const table = (all: Strip[], m: Metrics): (string | number)[][] => [['time', 'rank', 'node', 'value'], ...all.flatMap((s) => s.values.flatMap((v, i): (string | number)[][] => (v === null ? [] : [[new Date(ms(m.from) + i * m.stepSeconds * 1000).toISOString(), s.name, s.node, v]])))]
