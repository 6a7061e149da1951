// The machine that every workload follows, with the way that this one has taken.
import { useLayoutEffect } from 'preact/hooks'
import type { Workload } from '../../api/types'
import { now } from '../../lib/clock'
import { ms, plural, span } from '../../lib/format'
import { dialect, dialectNames } from '../../lib/prefs'
import { wordsOf, wordWhy } from '../../live/words'
import { useWidth } from '../../ui/basics'
import { lookOfWord } from '../../ui/said'
import { lookOf } from '../../ui/status'
import { phrase, T } from '../../texts'

/** Where each phase is: column and lane. The main line is lane 0. */
const spots: Record<string, [number, number]> = {
  Submitted: [0, 0], Reviewing: [1, 0], Building: [2, 0], Queued: [3, 0], Reserved: [4, 0], Starting: [5, 0], Running: [6, 0], Terminating: [7, 0],
  Inadmissible: [3, 1], Backoff: [5, 1], Restarting: [6, 1], Publishing: [8, -1],
}
const ends = ['Completed', 'Failed', 'Stopped', 'Canceled', 'Preempted', 'TimedOut', 'Lost', 'Deleted']
/** What is drawn even if nobody has gone there: the usual way. */
const usual: [string, string][] = [['Submitted', 'Reviewing'], ['Reviewing', 'Building'], ['Building', 'Queued'], ['Queued', 'Reserved'], ['Reserved', 'Starting'], ['Starting', 'Running'], ['Running', 'Terminating']]

export interface Step { from: string; to: string; times: number }
export interface Visit { times: number; spent: number; last: number }

/** What a history comes to: steps between phases, and time in each. */
export function walked(w: Workload, at: number): { steps: Step[]; visits: Map<string, Visit> } {
  const steps = new Map<string, Step>()
  const visits = new Map<string, Visit>()
  const ts = w.transitions
  ts.forEach((t, i) => {
    const until = i + 1 < ts.length ? ms(ts[i + 1]!.at) : w.endedAt && w.phase === t.to ? ms(t.at) : at
    const v = visits.get(t.to) ?? { times: 0, spent: 0, last: 0 }
    if (t.from !== t.to || v.times === 0) v.times++
    v.spent += Math.max(0, until - ms(t.at))
    v.last = ms(t.at)
    visits.set(t.to, v)
    if (!t.from || t.from === t.to) return
    const key = t.from + '>' + t.to
    const s = steps.get(key) ?? { from: t.from, to: t.to, times: 0 }
    s.times++
    steps.set(key, s)
  })
  return { steps: [...steps.values()], visits }
}

const laneHeight = 74

export function Course({ w }: { w: Workload }) {
  const [box, width] = useWidth<HTMLDivElement>()
  const { steps, visits } = walked(w, w.endedAt ? 0 : now.value)
  const taken = ends.filter((e) => visits.has(e))
  const last = taken.length > 0 ? taken : ['Completed']
  const lanes = ['Inadmissible', 'Backoff', 'Restarting'].some((p) => visits.has(p)) || last.length > 1
  const place = new Map(Object.entries(spots))
  const publishing = visits.has('Publishing')
  last.forEach((e, i) => place.set(e, [publishing ? 9 : 8, i]))
  const columns = publishing ? 10 : 9
  const column = Math.max(92, Math.min(150, (width - 24) / columns))
  const up = Math.max(steps.some((s) => back(place, s)) ? 40 : 10, publishing ? laneHeight : 0) // room for what goes back, and for the lane above
  const total = column * columns
  const height = up + (dialect.value === 'native' ? 64 : 76) + (lanes ? laneHeight * Math.max(1, last.length - 1) : 0)
  const xy = (p: string): [number, number] => {
    const [c, l] = place.get(p) ?? [0, 0]
    return [column * (c + 0.5), up + 16 + l * laneHeight]
  }
  const shownPhases = [...place.keys()].filter((p) => visits.has(p) || place.get(p)![1] === 0)
  const drawn = [...usual.filter(([a, b]) => !steps.some((s) => s.from === a && s.to === b)).map(([from, to]): Step => ({ from, to, times: 0 })), ...steps]
  const hereX = xy(w.phase)[0]
  useLayoutEffect(() => {
    const el = box.current
    if (el && el.scrollWidth > el.clientWidth) el.scrollLeft = hereX - el.clientWidth / 2 // where it is is what matters most
  }, [width > 0, w.phase])
  const d = dialect.value
  const status = d === 'native' ? undefined : w.statuses?.[d]
  const said = status && [status.status, wordWhy(status.status, status.reason)].filter(Boolean).join(', ')
  const foreign = (p: string): string => {
    if (p === w.phase && said) return `${dialectNames[d]}: ${said}`
    return wordsOf(p).length ? `${dialectNames[d]}: ${wordsOf(p).join(T.$or)}` : ''
  }
  const spoken = w.transitions.map((t) => t.to).filter((p, i, all) => p !== all[i - 1]).join(T.$then)
  return (
    <div class="course" ref={box} tabIndex={0} role="region" aria-label={T.$lifecycle}>
      {width > 0 && (
        <svg width={Math.max(total, 10)} height={height} role="img" aria-label={phrase(T.$phasesSoFarSpoken, { spoken })}>
          {drawn.map((s) => <Arrow key={s.from + s.to} step={s} from={xy(s.from)} to={xy(s.to)} column={column} />)}
          {shownPhases.map((p) => {
            const [x, y] = xy(p)
            const v = visits.get(p)
            const here = w.phase === p
            const [tone] = lookOf(p)
            const isEnd = ends.includes(p)
            return (
              <g key={p} class="station" data-tone={v ? tone : undefined} data-here={here || undefined} data-been={v ? true : undefined}>
                <title>{[v && `${p}: ${plural(v.times, T.$nTimes)}, ${span(v.spent)}`, foreign(p)].filter(Boolean).join('\n')}</title>
                {here && !w.endedAt && <circle cx={x} cy={y} r="11" class="halo" />}
                <circle cx={x} cy={y} r={v ? 6 : 4} />
                <text x={x} y={y + 23} class="station-name">{p}</text>
                {said && here && <text data-tone={lookOfWord(status.status)?.[0]} x={x} y={y + (isEnd ? 38 : 53)} class="station-said">{said}</text>}
                {v && <text x={x} y={y + 38} class="station-time">{isEnd || v.spent < 1 ? '' : span(v.spent)}{v.times > 1 ? ` ×${v.times}` : ''}</text>}
              </g>
            )
          })}
        </svg>
      )}
    </div>
  )
}

const back = (place: Map<string, [number, number]>, s: Step): boolean => {
  const a = place.get(s.from)
  const b = place.get(s.to)
  return !!a && !!b && (b[0] < a[0] || (b[0] - a[0] > 1 && a[1] === 0 && b[1] === 0))
}

/** A way to another lane: it turns off between two stations, where no name stands. */
function branch(x1: number, y1: number, x2: number, y2: number, column: number): string {
  const side = x2 >= x1 ? 1 : -1
  const r = 9
  const down = y2 > y1 ? 1 : -1
  // Beside the station of the main lane, which is the upper one.
  const at = down > 0 ? x1 + (side * column) / 2 : x2 - (side * column) / 2
  const into = Math.sign(x2 - at) || 1
  return `M${x1 + side * 6} ${y1}H${at - side * r}Q${at} ${y1} ${at} ${y1 + down * r}V${y2 - down * r}Q${at} ${y2} ${at + into * r} ${y2}H${x2 - into * 6}`
}

function Arrow({ step, from, to, column }: { step: Step; from: [number, number]; to: [number, number]; column: number }) {
  const [x1, y1] = from
  const [x2, y2] = to
  let d: string
  if (y1 === y2 && Math.abs(x2 - x1) < 160 && x2 > x1) d = `M${x1 + 6} ${y1}H${x2 - 6}`
  else if (y1 === y2) {
    const lift = Math.min(34, 12 + Math.abs(x2 - x1) / 14)
    d = `M${x1} ${y1 - 6}C${x1} ${y1 - lift},${x2} ${y2 - lift},${x2} ${y2 - 6}`
  } else d = branch(x1, y1, x2, y2, column)
  return <path d={d} class="way" data-taken={step.times > 0 || undefined}><title>{phrase(T.$fromToToTimes, { from: step.from, to: step.to, times: plural(step.times, T.$nTimes) })}</title></path>
}
