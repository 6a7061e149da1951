// The way a workload has taken, as one line; the whole machine of phases below it,
// for who wants to see that.
import { useState } from 'preact/hooks'
import type { Workload } from '../../api/types'
import { now } from '../../lib/clock'
import { ms, span } from '../../lib/format'
import { Card } from '../../ui/basics'
import { after, look, word } from '../../ui/status'
import { Course } from './course'
import { phrase, T } from '../../texts'

const most = 7 // stages that are told; the last are what explains the present
const brief = 1000 // ms; what took less is passed over, but for the present, and for what ended an attempt

export function Lifeline({ w }: { w: Workload }) {
  const [whole, show] = useState(false)
  const ts = w.transitions
  const all = ts.map((t, i) => {
    const next = ts[i + 1]
    const last = !next
    return { t, at: i, last, end: last && !!w.endedAt, spent: (next ? ms(next.at) : w.endedAt ? ms(t.at) : now.value) - ms(t.at) }
  })
  const long = all.filter((s, i) => i === 0 || s.last || s.spent >= brief)
  // Twice the same, one after the other, says nothing: what came between does.
  const stages = long.flatMap((s, i) => {
    const before = long[i - 1]
    const between = before && word(after(before.t)) === word(after(s.t)) ? all.slice(before.at + 1, s.at).filter((x) => word(after(x.t)) !== word(after(s.t))) : []
    const telling = between.find((x) => x.t.reason) ?? between[0]
    return telling ? [telling, s] : [s]
  })
  const left = Math.max(0, stages.length - most)
  return (
    <Card class="wide lifeline-card">
      <div class="lifeline">
        <h2 class="sr">{T.$lifecycle}</h2>
        <ol>
          {left > 0 && <li class="muted">{phrase(T.$leftEarlierStages, { left })}</li>}
          {stages.slice(left).map((s, i) => (
            <li key={i} data-tone={look(after(s.t))[0]} data-here={s.last || undefined} aria-current={s.last ? 'step' : undefined}>
              <i aria-hidden="true" />{!s.last && s.spent < brief && s.t.reason ? s.t.reason : word(after(s.t))}{!s.end && (s.last || s.spent >= brief) && <small>{span(s.spent)}</small>}
            </li>
          ))}
        </ol>
        <button type="button" class="button quiet" aria-expanded={whole} onClick={() => show(!whole)}><span>{whole ? T.$showLess : T.$allPhases}</span></button>
      </div>
      {whole && <Course w={w} />}
    </Card>
  )
}
