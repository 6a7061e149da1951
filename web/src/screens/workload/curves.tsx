// The numbers that a workload reports, each as a curve over its steps.
import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { Reported, ReportedSeries, Workload } from '../../api/types'
import { now } from '../../lib/clock'
import { count, localTimes } from '../../lib/format'
import { oneOf, remembered } from '../../lib/prefs'
import { savePNG } from '../../lib/png'
import { csv, saveText } from '../../lib/save'
import { Button, Card } from '../../ui/basics'
import { Curve, shared, short } from '../../ui/curve'
import { complain } from '../../ui/overlay'
import { Key, Twin } from '../../ui/plot'
import { bestOf, better, metricsOf, smooth, stepText, traceOf } from '../../work/reported'
import { phrase, T } from '../../texts'

/** Whether numbers that span powers of ten are drawn so that each takes as much room. */
export const logScale = remembered<'linear' | 'log'>('curves.scale', 'linear', oneOf('linear', 'log'))

/** How much of what came before each point has a part in it, in percent. */
export const smoothing = remembered<number>('curves.smoothing', 0, (v): v is number => typeof v === 'number' && v >= 0 && v < 100, () => sessionStorage)

const first = 4 // curves that are shown at once
const drawn = 64 // lines of one curve

export interface Line { s: ReportedSeries; id: string; name: string; hue: number; faint?: boolean }

export function Curves({ w, reported }: { w: Workload; reported: Reported | null }) {
  const all = reported?.series ?? []
  const [task, pick] = useState('')
  const tasks = [...new Set(all.map((s) => s.task))].sort((a, b) => a - b)
  const attempts = [...new Set(all.map((s) => s.attempt))]
  const roles = new Map((w.attempts[w.attempts.length - 1]?.tasks ?? []).map((t) => [t.index, t.role]))
  const said = (n: number): string => `${roles.get(n) ?? T.$taskLower} ${n}`
  const lines = all.filter((s) => s.metric && (task === '' || String(s.task) === task)).map((s): Line => ({
    s, id: `${s.attempt}/${s.task}`, hue: tasks.length > 1 ? tasks.indexOf(s.task) : 0, faint: s.attempt !== attempts[attempts.length - 1],
    name: [tasks.length > 1 && said(s.task), attempts.length > 1 && phrase(T.$attemptIndex, { index: s.attempt })].filter(Boolean).join(', ') || s.metric,
  }))
  if (metricsOf(all).length === 0) return null
  return (
    <CurveCard title={T.$reported} file={w.name} lines={lines} missing={reported?.missing ?? []}
      head={tasks.length > 1 && <label class="pick">{phrase(T.$taskChoice, { choice: <select value={task} onChange={(e) => pick(e.currentTarget.value)}><option value="">{T.$allTasks}</option>{tasks.map((t) => <option key={t} value={t}>{said(t)}</option>)}</select> })}</label>} />
  )
}

/** Curves of any lines, one chart for each number. */
export function CurveCard({ title, file, lines, missing = [], head, keyed = false }: { title: string; file: string; lines: Line[]; missing?: string[]; head?: ComponentChildren; keyed?: boolean }) {
  const of = useMemo(shared, [])
  const [open, setOpen] = useState(false)
  const [only, setOnly] = useState<ReadonlySet<string>>(new Set())
  const names = metricsOf(lines.map((l) => l.s))
  const shown = open ? names : names.slice(0, names.length > first + 1 ? first : names.length)
  const keys = [...new Map(lines.map((l) => [l.id, l])).values()]
  const seen = (l: Line): boolean => only.size === 0 || only.has(l.id)
  return (
    <Card class="wide curves" title={title} aside={
      <div class="curves-tools">
        {head}
        {of.zoom.value && <Button kind="quiet" icon="close" onClick={() => (of.zoom.value = null)}>{T.$wholeRange}</Button>}
        <label class="pick curves-smooth">{T.$smoothing}<input type="range" min="0" max="99" value={smoothing.value} aria-valuetext={smoothing.value + '%'} onInput={(e) => (smoothing.value = Number(e.currentTarget.value))} /></label>
        <label class="pick"><input type="checkbox" checked={logScale.value === 'log'} onChange={(e) => (logScale.value = e.currentTarget.checked ? 'log' : 'linear')} />{T.$logScale}</label>
        <Button kind="quiet" icon="download" aria-label={T.$downloadAsCSV} onClick={() => saveText(`${file}-reported.csv`, 'text/csv', table(lines))} />
      </div>
    }>
      {keyed && <Key stroke of={keys.map((l) => ({ id: l.id, name: l.name }))} chosen={only} choose={(id) => setOnly(only.has(id) ? new Set([...only].filter((x) => x !== id)) : new Set([...only, id]))} />}
      <div class="curve-grid plot">
        {shown.map((m) => {
          const mine = lines.filter((l) => l.s.metric === m && seen(l))
          const newest = mine.filter((l) => !l.faint)
          const one = newest.length === 1 ? newest[0]! : undefined
          const way = better(m)
          const best = way ? newest.map((l) => bestOf(l.s)).sort((a, b) => way * (b[0] - a[0]))[0] : undefined
          return (
            <figure key={m} class="curve-one">
              <figcaption><span class="curve-name clip" title={m}>{m}</span>{one && <b>{short(one.s.last)}</b>}{best && <span class="muted clip">{phrase(T.$bestValueAtStep, { value: short(best[0]), step: count(best[1]) })}</span>}<Button kind="quiet" icon="download" aria-label={phrase(T.$downloadNameAsPNG, { name: m })} onClick={(e) => { const chart = e.currentTarget.closest('figure')!.querySelector('svg[role=img]'); if (chart) void savePNG(chart as SVGSVGElement, `${file}: ${m}`, `${file}-${m.replace(/[^\w.-]+/g, '-')}.png`).catch((x) => complain(x)) }} /></figcaption>
              <Curve label={m} of={of} unit={stepText} log={logScale.value === 'log'} traces={smooth(mine.slice(0, drawn).map((l) => traceOf(l.s, l.name, l.hue, l.faint)), smoothing.value / 100)} />
              {mine.length > drawn && <p class="muted">{phrase(T.$firstOfAllLines, { first: drawn, all: count(mine.length) })}</p>}
            </figure>
          )
        })}
      </div>
      {names.length > first + 1 && <Button kind="quiet" onClick={() => setOpen(!open)}>{open ? T.$showLess : phrase(T.$showAllN, { n: names.length })}</Button>}
      <Twin label={title} head={[T.$name, T.$line, T.$lastLower, T.$min, T.$max, T.$reports]} rows={lines.slice(0, 200).map((l) => [l.s.metric, l.name, short(l.s.last), `${short(l.s.min)} (${stepText(l.s.minStep)})`, `${short(l.s.max)} (${stepText(l.s.maxStep)})`, count(l.s.reports)])} />
      {missing.map((x) => <p key={x} class="muted">{phrase(T.$notKnownX, { x: localTimes(x, now.value) })}</p>)}
    </Card>
  )
}

/** Every point as a line of a table. */
const table = (lines: Line[]): string => csv([['workload', 'attempt', 'task', 'metric', 'step', 'time', 'value'], ...lines.flatMap(({ s }) => s.steps.map((step, i): (string | number)[] => [s.id, s.attempt, s.task, s.metric, step, new Date(s.atSeconds[i]! * 1000).toISOString(), s.values[i]!]))])
