import type { Why, Workload } from '../../api/types'
import { now } from '../../lib/clock'
import { moment, ms, span } from '../../lib/format'
import { waits } from '../../live/store'
import { Card, Link, sentence } from '../../ui/basics'
import { Expected, Offers } from '../../work/why'

const who: Record<string, string> = { wait: 'Time will tell', change: 'You can change it', ask: 'Ask an administrator' }

/** Why it waits: every blocker, the gravest first, and what is expected. */
export function Pending({ w, why }: { w: Workload; why: Why | null }) {
  const p = w.pending!
  const fresh = waits.value.get(w.id)
  const position = fresh?.position ?? p.position
  const start = fresh?.start ?? p.estimatedStart
  return (
    <Card class="wide pending" tone="wait" title="Why it waits" aside={position ? <>#{position}{p.waiting ? ` of ${p.waiting}` : ''} in {w.project}</> : undefined}>
      <ol class="reasons">
        {p.reasons.map((r, i) => (
          <li key={r.token + i}>
            <p class="reason"><code>{r.token}</code> {sentence(r.message)}</p>
            <p class="muted">{who[r.act] ?? r.act}{r.hint && ': ' + r.hint}</p>
          </li>
        ))}
      </ol>
      {why?.estimate && <Expected e={why.estimate} />}
      {why && <Offers y={why} />}
      <p class="muted">
        {!why?.estimate && start && ms(start) > now.value ? <>Expected start in {span(ms(start) - now.value)} ({moment(start, now.value, false)}). </> : null}
        {p.ahead.length > 0 && <>Before it: {p.ahead.join(', ')}. </>}
        <Link to={`queue?why=${encodeURIComponent(w.project)}/${encodeURIComponent(w.name)}`}>Who is ahead, and whose end makes room</Link>
      </p>
    </Card>
  )
}
