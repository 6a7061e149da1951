import type { Why, Workload } from '../../api/types'
import { now } from '../../lib/clock'
import { ms, span } from '../../lib/format'
import { waits } from '../../live/store'
import { At, Card, Link, sentence } from '../../ui/basics'
import { Icon } from '../../ui/icons'
import { Remedy } from '../../work/remedy'
import { estimateOf } from '../../work/start'
import { Expected, Offers } from '../../work/why'
import { phrase, T } from '../../texts'

const who: Record<string, string> = { wait: T.$noActionNeeded2, change: T.$youCanChangeThis, ask: T.$askAnAdministrator }

/** Why it waits: every blocker, the gravest first, and what is expected. */
export function Pending({ w, why }: { w: Workload; why: Why | null }) {
  const p = w.pending!
  const fresh = waits.value.get(w.id)
  const position = fresh?.position ?? p.position
  const estimate = why && !p.reasons.some((r) => r.never) ? estimateOf(w.id, why.estimate) : undefined
  const start = fresh?.start ?? p.estimatedStart
  return (
    <Card class="wide pending" tone="wait" title={T.$whyItIsWaiting} aside={position ? <>{phrase(T.$positionMoreInProject, { position, more: p.waiting ? phrase(T.$ofTotal, { total: p.waiting }) : '', project: w.project })}</> : undefined}>
      <ol class="reasons">
        {p.reasons.map((r, i) => (
          <li key={r.token + i}>
            <p class="reason"><code>{r.token}</code> {sentence(r.message)}</p>
            <p class="muted">{who[r.act] ?? r.act}{r.hint && ': ' + r.hint}</p>
            <Remedy token={r.token} of={w} />
            {r.token === 'AdmissionChecks' && <Link to="approvals">{T.$openTheApproval}</Link>}
          </li>
        ))}
      </ol>
      {p.reasons.some((r) => r.never) && <p class="never"><Icon name="noentry" size={14} />{T.$neverStartsAsItIs}</p>}
      {estimate && <Expected e={estimate} />}
      {why && <Offers y={why} />}
      <p class="muted">
        {!estimate && start && ms(start) > now.value ? <>{phrase(T.$expectedStartInTimeTime2, { time: span(ms(start) - now.value), time2: <At at={start} now={now.value} /> })}</> : null}
        {p.ahead.length > 0 && <>{phrase(T.$aheadList, { list: p.ahead.join(', ') })}</>}
        <Link to={`queue?why=${encodeURIComponent(w.project)}/${encodeURIComponent(w.name)}`}>{T.$showWhatIsAheadAndWhat}</Link>
      </p>
    </Card>
  )
}
