// Attempts as lanes of time: what it waited for, what it did.
import { useState } from 'preact/hooks'
import type { Attempt, Estimate, Transition, Why, Workload } from '../../api/types'
import { now } from '../../lib/clock'
import { Marks, milestones, Shape } from './marks'
import { waits } from '../../live/store'
import { useHistory } from '../../live/words'
import { length } from '../../lib/filter'
import { moment, ms, span } from '../../lib/format'
import { go, workloadPath } from '../../lib/router'
import { At, Link, sentence, useWidth } from '../../ui/basics'
import { after, endAs, look, stateOf, Status, TaskStatus, word, type Stateful } from '../../ui/status'
import { groups } from '../../work/filter'
import { estimateOf } from '../../work/start'
import { phrase, T } from '../../texts'

export interface Segment { state: Stateful; from: number; to: number; open: boolean; reason: string }
export interface Lane { attempt: number; segments: Segment[]; begin: number; end: number }

/** The lanes of a history. What has not ended goes on until at. */
export function lanes(ts: Transition[], ended: boolean, at: number): Lane[] {
  const out: Lane[] = []
  ts.forEach((t, i) => {
    const next = ts[i + 1]
    const from = ms(t.at)
    if (!next && ended) { // an end has no length
      out[out.length - 1]?.segments.push({ state: after(t), from, to: from, open: false, reason: t.reason ?? '' })
      return
    }
    const to = next ? ms(next.at) : Math.max(at, from)
    let lane = out[out.length - 1]
    if (!lane || lane.attempt !== t.attempt) out.push((lane = { attempt: t.attempt, segments: [], begin: from, end: to }))
    lane.segments.push({ state: after(t), from, to, open: !next, reason: t.reason ?? '' })
    lane.end = to
  })
  return out
}

/** Round distances between marks of time, in seconds. */
const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800]

/** Marks over a length of time, about one for each 110 pixels. */
export function marks(length: number, width: number): number[] {
  const want = length / 1000 / Math.max(1, width / 110)
  const step = steps.find((s) => s >= want) ?? steps[steps.length - 1]!
  const out: number[] = []
  for (let t = 0; t <= length / 1000 + 1e-9 && out.length < 50; t += step) out.push(t * 1000)
  return out
}

/** A mark's distance from the begin, in tenths of seconds where they are near. */
const mark = (m: number): string => (m % 1000 && m < 60_000 ? (m / 1000).toFixed(1) + 's' : span(m))

const laneHeight = 34
const gutter = 74

export interface Forecast { kind: 'start' | 'end'; from: number; to: number; text: string }

/**
 * What is expected: of one that waits the earliest start, and how long it may run
 * from then on; of one that runs when its time is over. Times since 1970.
 */
export function forecast(w: Workload, start: string | undefined, at: number, range?: Estimate): Forecast[] {
  if (w.endedAt) return []
  const most = length((w.spec as { maxDuration?: string } | undefined)?.maxDuration ?? '')
  const a = w.attempts[w.attempts.length - 1]
  const out: Forecast[] = []
  if (a?.runningAt) {
    const over = ms(a.runningAt) + most
    if (over > at) out.push({ kind: 'end', from: at, to: over, text: phrase(T.$timeLimitAtTime, { time: moment(over, at, false) }) })
    return out
  }
  const early = ms(range?.early ?? range?.likely ?? start)
  const late = ms(range?.late ?? range?.likely)
  const begin = Math.max(early || at, at) // it may be known only by when at the latest
  if (!(begin > at) && !(late > at)) return out
  if (late > begin) out.push({ kind: 'start', from: begin, to: late, text: phrase(T.$startBetweenTimeAndTime2, { time: moment(begin, at, false), time2: moment(late, at, false) }) })
  else out.push({ kind: 'start', from: at, to: begin, text: phrase(T.$moreAtTime, { more: T.$startLower, time: moment(begin, at, false) }) })
  if (most > 0) out.push({ kind: 'end', from: out[0]!.to, to: out[0]!.to + most, text: phrase(T.$thenAtMostTime, { time: span(most) }) })
  return out
}

export function Gantt({ w, why }: { w: Workload; why: Why | null }) {
  const [box, width] = useWidth<HTMLDivElement>()
  const [aligned, align] = useState(false)
  const ended = !!w.endedAt
  const history = useHistory(w)
  const all = lanes(history, ended, ended ? 0 : now.value)
  if (all.length === 0) return null
  const begin = all[0]!.begin
  const expected = forecast(w, waits.value.get(w.id)?.start ?? w.pending?.estimatedStart, now.value, w.phase === 'Queued' ? estimateOf(w.id, why?.estimate) : undefined)
  const ahead = expected[expected.length - 1]?.to ?? 0
  const noted = milestones(w)
  const lastBegin = aligned ? all[all.length - 1]!.begin : begin
  // What is expected has at most as much room again as what has been, so that this can be seen.
  const had = Math.max(1000, aligned ? Math.max(...all.map((l) => l.end - l.begin)) : all[all.length - 1]!.end - begin)
  const shownAhead = Math.min(ahead, lastBegin + had * 2.5)
  const whole = Math.max(shownAhead - lastBegin, 1000, aligned ? Math.max(...all.map((l) => l.end - l.begin)) : all[all.length - 1]!.end - begin)
  const room = Math.max(100, width - gutter - 12)
  const x = (t: number): number => gutter + (t / whole) * room
  const top = 22
  return (
    <div class="gantt">
      {all.length > 1 && (
        <div class="segments small" role="group" aria-label={T.$period}>
          <button type="button" aria-pressed={!aligned} onClick={() => align(false)}>{T.$absolute}</button>
          <button type="button" aria-pressed={aligned} onClick={() => align(true)}>{T.$relativeToEachStart}</button>
        </div>
      )}
      <div ref={box}>
        {width > 0 && (
          <svg width={width} height={top + all.length * laneHeight + 4} role="img" aria-label={T.$attemptsOverTimeTheTable}>
            {marks(whole, room).map((m) => (
              <g key={m} class="mark"><path d={`M${x(m)} ${top - 4}V${top + all.length * laneHeight}`} /><text x={x(m)} y={top - 8} text-anchor={x(m) > width - 40 ? 'end' : m === 0 ? 'start' : 'middle'}>{m === 0 && !aligned ? moment(begin, now.peek(), false) : '+' + mark(m)}</text></g>
            ))}
            {all.map((l, i) => (
              <g key={l.attempt}>
                <text x={0} y={top + i * laneHeight + 21} class="lane-name">{phrase(T.$attemptIndex, { index: l.attempt })}</text>
                {l.segments.map((s, n) => {
                  const final = ended && i === all.length - 1 && n === l.segments.length - 1
                  if (s.to === s.from && !s.open && !final) return null // over as it began
                  const from = s.from - (aligned ? l.begin : begin)
                  const a = x(from)
                  const b = Math.max(a + 2, x(from + s.to - s.from))
                  const [tone] = look(s.state)
                  const text = word(s.state)
                  const wrote = s.from >= ms(w.attempts.find((a) => a.index === l.attempt)?.startedAt)
                  const fits = (b - a) > text.length * 6.6 + 12
                  return (
                    <g key={n} class="bit" data-tone={tone} data-open={s.open || undefined} data-log={wrote || undefined} onClick={wrote ? () => go(workloadPath(w.project, w.name, `logs&attempt=${l.attempt}&task=all&when=${new Date(s.from).toISOString()}`)) : undefined}>
                      <title>{phrase(T.$textMoreTimeFromTime2More2, { text, more: s.reason ? ' (' + s.reason + ')' : '', time: span(s.to - s.from), time2: moment(s.from, now.peek()), more2: wrote ? T.$clickToShowTheLogOfThat : '' })}</title>
                      {!final
                        ? <rect x={a} y={top + i * laneHeight + 7} width={b - a} height={laneHeight - 14} rx="3" />
                        : <circle cx={Math.min(a + 3, width - 6)} cy={top + i * laneHeight + laneHeight / 2} r="5" class="end" />}
                      {fits && <text x={a + 7} y={top + i * laneHeight + 21}>{text}</text>}
                    </g>
                  )
                })}
                {i === all.length - 1 && expected.map((f) => {
                  const a = x(f.from - lastBegin)
                  const b = Math.min(x(f.to - lastBegin), width - 2)
                  if (b - a < 3) return null
                  const label = f.kind === 'start' ? T.$expectedStart : f.to - lastBegin > whole + 1 ? `${f.text} →` : f.text
                  return (
                    <g key={f.kind} class="forecast" data-kind={f.kind}>
                      <title>{sentence(f.text)}</title>
                      <rect x={a} y={top + i * laneHeight + 9} width={b - a} height={laneHeight - 18} rx="3" />
                      {b - a > label.length * 6 + 14 && <text x={a + 8} y={top + i * laneHeight + 21}>{label}</text>}
                    </g>
                  )
                })}
                {noted.filter((m) => m.attempt === l.attempt).map((m) => (
                  <g key={m.kind + m.at} class="milestone" data-kind={m.kind} transform={`translate(${Math.min(x(m.at - (aligned ? l.begin : begin)), width - 6)} ${top + i * laneHeight + 6})`}><title>{`${m.text}, ${moment(m.at, now.peek())}`}</title><Shape of={m.kind} /></g>
                ))}
              </g>
            ))}
          </svg>
        )}
      </div>
      {expected.length > 0 && <p class="gantt-legend muted">{phrase(T.$iconExpectedList, { icon: <i class="forecast-key" aria-hidden="true" />, list: expected.map((f) => f.text).join(', ') })}</p>}
      <Marks of={noted} attempts={w.attempts.length} />
      <Changes w={w} />
      <AttemptTable w={w} history={history} />
    </div>
  )
}

const value = (v: unknown): string => (v === undefined || v === null ? T.$none2 : typeof v === 'object' ? JSON.stringify(v) : String(v))

/** What was changed of the document while it lived, such as its priority. */
function Changes({ w }: { w: Workload }) {
  const all = w.attempts.flatMap((a) => (a.revised ?? []).map((c) => ({ ...c, attempt: a.index })))
  if (all.length === 0) return null
  return <p class="muted">{phrase(T.$changedMore, { more: all.map((c) => `${c.path} ${value(c.from)} → ${value(c.to)}${w.attempts.length > 1 ? phrase(T.$attemptAttempt2, { attempt: c.attempt }) : ''}`).join(', ') })}</p>
}

/** What an attempt ended as: the present one as its workload did, an earlier one as what came before the next. */
function endOf(w: Workload, a: Attempt, history: Transition[]): Stateful | undefined {
  if (a.index === w.attempt) return stateOf(w)
  const last = history.filter((t) => t.attempt === a.index).at(-1)
  if (last && groups.ended!.has(last.to)) return after(last)
  if (last && look(after(last))[1] === 'cross') return after(last) // the platform's own word for what is tried again
  return a.exitCode || last?.to === 'Backoff' ? endAs('Failed') : a.reason === 'Preempted' ? endAs('Preempted') : undefined
}

function Became({ of, reason }: { of: Stateful | undefined; reason: string }) {
  if (!of) return <TaskStatus state="stopping" label={reason || T.$ended} />
  return <><Status of={of} plain />{reason && reason !== word(of) && <span class="muted"> {reason}</span>}</>
}

function AttemptTable({ w, history }: { w: Workload; history: Transition[] }) {
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={T.$attempts}>
      <table class="plain">
        <thead><tr><th scope="col">{T.$attempt3}</th><th scope="col">{T.$state}</th><th scope="col">{T.$waited2}</th><th scope="col">{T.$startUp}</th><th scope="col">{T.$runTime}</th><th scope="col">{T.$exitCode}</th><th scope="col">{T.$checkpoint}</th><th scope="col">{T.$nodes}</th><th scope="col">{T.$log}</th></tr></thead>
        <tbody>
          {w.attempts.map((a) => {
            const end = a.endedAt ? ms(a.endedAt) : a.index === w.attempt && !w.endedAt ? now.value : NaN
            const nodes = [...new Set(a.tasks.map((t) => t.node).filter(Boolean))]
            return (
              <tr key={a.index}>
                <td>{a.index}</td>
                <td title={a.message}><Became of={endOf(w, a, history)} reason={a.endedAt ? a.reason ?? '' : ''} /></td>
                <td>{span(ms(a.startedAt) - ms(a.queuedAt ?? w.createdAt))}</td>
                <td>{span(ms(a.runningAt) - ms(a.startedAt))}</td>
                <td>{span(end - ms(a.runningAt))}</td>
                <td>{a.exitCode ?? '–'}</td>
                <td>{a.saved ? <>{a.saved.step ? phrase(T.$stepStepLower, { step: a.saved.step }) : ''}<At at={a.saved.at} now={now.peek()} /></> : '–'}</td>
                <td><span class="clip">{nodes.slice(0, 3).join(', ') || '–'}{nodes.length > 3 && ` +${nodes.length - 3}`}</span></td>
                <td>{a.startedAt ? <Link to={workloadPath(w.project, w.name, 'logs&attempt=' + a.index)}>{T.$open2}</Link> : '–'}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
