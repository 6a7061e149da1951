import type { Workload } from '../../api/types'
import { now } from '../../lib/clock'
import { exact, moment, ms, span } from '../../lib/format'
import { useHistory } from '../../live/words'
import { after, Status } from '../../ui/status'
import { T } from '../../texts'

/** Everything that happened to it, the newest first. */
export function Events({ w }: { w: Workload }) {
  const ts = useHistory(w)
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={T.$events}>
      <table class="plain events">
        <thead><tr><th scope="col">{T.$time}</th><th scope="col">{T.$from}</th><th scope="col">{T.$to}</th><th scope="col">{T.$event}</th><th scope="col">{T.$actor}</th><th scope="col">{T.$reason}</th></tr></thead>
        <tbody>
          {ts.map((t, i) => (
            <tr key={t.seq}>
              <td><time dateTime={t.at} title={exact(t.at)}>{moment(t.at, now.value)}</time></td>
              <td class="muted">{i > 0 ? '+' + span(ms(t.at) - ms(ts[i - 1]!.at)) : ''}</td>
              <td><Status of={after(t)} plain /></td>
              <td class="muted">{t.event}</td>
              <td>{t.actor.replace(/^user:/, '')}</td>
              <td class="why-cell">{t.reason && <code>{t.reason}</code>} {t.cause && <span class="muted">({t.cause})</span>} {t.message}</td>
            </tr>
          )).reverse()}
        </tbody>
      </table>
    </div>
  )
}
