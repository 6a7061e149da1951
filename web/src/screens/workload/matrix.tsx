// All tasks of an array at one look: a square of each in the colour of its state, in
// rows of equal values where there is a grid. Of very many, a square is several.
import { useMemo, useState } from 'preact/hooks'
import { params, workloadURL } from '../../api/client'
import type { TaskStates, Workload } from '../../api/types'
import { count } from '../../lib/format'
import { go, workloadPath } from '../../lib/router'
import { useLive } from '../../live/fetch'
import { rowNamed } from '../../live/store'
import { Card, useWidth } from '../../ui/basics'
import { TaskStatus } from '../../ui/status'
import { cellOf, gridOf, rowLength, type Grid } from '../../work/cells'
import { phrase, T } from '../../texts'

const names: Record<string, string> = { f: 'failed', l: 'lost', e: 'stopping', r: 'running', s: 'starting', d: 'succeeded', p: 'pending', '-': 'pending' }
const gravity = 'flersp-d' // what a square of several tasks shows: the first of these that is among them

const squares = 3000 // at most
const [small, large] = [7, 18] // pixels of a square

/** The text of a value. */
const say = (v: unknown): string => (typeof v === 'object' ? JSON.stringify(v) : String(v))

export function Matrix({ w }: { w: Workload }) {
  const { data } = useLive<TaskStates>(workloadURL(w.project, w.name) + '/task-states' + params({ attempt: String(w.attempt) }), () => rowNamed(w.project, w.name)?.revision, 3000)
  const grid = gridOf(w)
  const [want, setWant] = useState<Record<string, string>>({})
  if (!data) return null
  const total = Math.max(w.tasks.total, data.states.length)
  const states = data.states.padEnd(total, '-')
  return (
    <Card class="wide matrix-card" title={T.$tasks} aside={grid && (
      <div class="curves-tools">{grid.names.filter((n) => grid.values[n]!.length > 1).map((n) => (
        <label class="pick" key={n}>{n} <select value={want[n] ?? ''} onChange={(e) => setWant({ ...want, [n]: e.currentTarget.value })}><option value="">{T.$any}</option>{grid.values[n]!.map((v) => <option key={say(v)} value={say(v)}>{say(v)}</option>)}</select></label>
      ))}</div>
    )}>
      <Squares w={w} states={states} grid={grid} want={want} />
    </Card>
  )
}

function Squares({ w, states, grid, want }: { w: Workload; states: string; grid: Grid | undefined; want: Record<string, string> }) {
  const [box, width] = useWidth<HTMLDivElement>()
  const [at, look] = useState(-1)
  const total = states.length
  const wanted = Object.entries(want).filter(([, v]) => v !== '')
  const fits = useMemo(() => {
    if (!grid || wanted.length === 0) return undefined
    return Array.from({ length: total }, (_, i) => {
      const cell = cellOf(grid, i)
      return wanted.every(([n, v]) => say(cell[n]) === v)
    })
  }, [grid && JSON.stringify(grid), total, JSON.stringify(wanted)])
  const each = Math.max(1, Math.ceil(total / squares))
  const n = Math.ceil(total / each)
  const heading = (r: number, across: number): string => Object.entries(cellOf(grid!, r * across)).filter(([k]) => k !== grid!.names[grid!.names.length - 1]).sort().map(([k, v]) => `${k} ${say(v)}`).join(', ')
  const longest = grid && each === 1 ? Math.max(0, ...Array.from({ length: n / rowLength(grid) }, (_, r) => heading(r, rowLength(grid)).length)) : 0
  const gutter = grid && grid.names.length > 1 && each === 1 ? Math.min(longest * 6.7 + 12, 260, width / 3) : 0
  const room = Math.max(60, width - gutter)
  const rowed = grid && each === 1 && rowLength(grid) * 5 <= room ? rowLength(grid) : 0
  const size = rowed ? Math.max(5, Math.min(large, Math.floor(room / rowed))) : Math.max(small, Math.min(large, Math.floor(Math.sqrt((room * 150) / n))))
  const across = rowed || Math.max(1, Math.floor(room / size))
  const rows = Math.ceil(n / across)
  const named = rowed > 0 && size >= 11 && rows > 1
  const left = named ? gutter : 0
  const paths = new Map<string, string>()
  const counts = new Map<string, number>()
  for (let i = 0; i < n; i++) {
    let state = gravity.length
    let some = false
    for (let k = i * each; k < Math.min(total, (i + 1) * each); k++) {
      if (fits && !fits[k]) continue
      some = true
      state = Math.min(state, gravity.indexOf(states[k]!))
      const name = names[states[k]!]!
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    const key = some ? names[gravity[state]!]! : 'out'
    const [px, py] = [left + (i % across) * size, Math.floor(i / across) * size]
    const q = Math.floor(size / 3)
    // No state is told by its colour alone: what runs is open in the middle, what failed is crossed out.
    paths.set(key, (paths.get(key) ?? '') + `M${px} ${py}h${size - 2}v${size - 2}h${2 - size}z` + (key === 'running' && size >= 7 ? `M${px + q} ${py + q}v${size - 2 - 2 * q}h${size - 2 - 2 * q}v${2 * q + 2 - size}z` : ''))
    if ((key === 'failed' || key === 'lost') && size >= 7) paths.set('cross', (paths.get('cross') ?? '') + `M${px + 2} ${py + 2}l${size - 6} ${size - 6}m0 ${6 - size}l${6 - size} ${size - 6}`)
  }
  const said = (i: number): string => {
    const [a, b] = [i * each, Math.min(total, (i + 1) * each) - 1]
    const cell = grid ? Object.entries(cellOf(grid, a)).sort().map(([k, v]) => `${k} ${say(v)}`).join(', ') : ''
    return each > 1 ? phrase(T.$tasksFromTo, { from: count(a), to: count(b) }) : [phrase(T.$taskCulprit, { culprit: a }), cell, names[states[a]!]].filter(Boolean).join(' · ')
  }
  const open = (i: number): void => go(workloadPath(w.project, w.name, each > 1 ? `tasks&from=${i * each}` : `logs&attempt=${w.attempt}&task=${i}`))
  const hit = (e: { clientX: number; clientY: number; currentTarget: Element }): number => {
    const r = e.currentTarget.getBoundingClientRect()
    const [c, l] = [Math.floor((e.clientX - r.left - left) / size), Math.floor((e.clientY - r.top) / size)]
    const i = l * across + c
    return c >= 0 && c < across && i >= 0 && i < n ? i : -1
  }
  const order = ['failed', 'lost', 'stopping', 'running', 'starting', 'pending', 'succeeded']
  return (
    <div class="matrix">
      <div class="counts">{order.filter((s) => counts.has(s)).map((s) => <span key={s}><TaskStatus state={s} label={`${count(counts.get(s)!)} ${s}`} /></span>)}</div>
      <div ref={box} class="matrix-box" role="group" tabIndex={0} aria-label={T.$tasksUseTheArrowKeys} onBlur={() => look(-1)}
        onKeyDown={(e) => {
          const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across }[e.key]
          if (by) look(at < 0 ? 0 : Math.max(0, Math.min(n - 1, at + by)))
          else if (e.key === 'Enter' && at >= 0) open(at)
          else if (e.key === 'Escape' && at >= 0) look(-1)
          else return
          e.preventDefault()
          e.stopPropagation()
        }}>
        {width > 0 && (
          <svg width={left + across * size} height={rows * size} role="img" aria-label={T.$theTabTasksHasTheSame} onPointerMove={(e) => look(hit(e))} onPointerLeave={() => look(-1)} onClick={(e) => { const i = hit(e); if (i >= 0) open(i) }}>
            {named && Array.from({ length: rows }, (_, r) => <text key={r} x={left - 10} y={r * size + size / 2 + 3} text-anchor="end">{heading(r, across).slice(0, Math.floor(gutter / 6.6))}</text>)}
            {[...paths].map(([state, d]) => <path key={state} class="squares" data-state={state} d={d} />)}
            {at >= 0 && <rect class="here" x={left + (at % across) * size - 1} y={Math.floor(at / across) * size - 1} width={size} height={size} rx="2" />}
          </svg>
        )}
      </div>
      <p class="muted matrix-said" role="status">{at >= 0 ? said(at) : each > 1 ? phrase(T.$aSquareIsEachTasks, { each: count(each) }) : grid ? phrase(T.$aRowIsEveryValueOfName, { name: grid.names[grid.names.length - 1]! }) : T.$clickATaskForItsLog}</p>
    </div>
  )
}
