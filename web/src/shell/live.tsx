import { now } from '../lib/clock'
import { span } from '../lib/format'
import { lastHeard, streamState } from '../live/stream'

/** Whether what is shown is of now. */
export function LiveBadge() {
  const s = streamState.value
  const old = s === 'stale' ? (void now.value, span(Math.max(1000, Date.now() - lastHeard.value))) : ''
  const text = s === 'live' ? 'Live' : s === 'paused' ? 'Paused' : s === 'connecting' ? 'Connecting' : 'Stale ' + old
  const why = {
    live: 'Changes show at once', paused: 'The page was hidden; it goes on when it is seen',
    connecting: 'The server has not answered yet', stale: 'The connection broke off; trying again',
  }[s]
  return <span class="live" data-state={s} title={why} role="status"><i aria-hidden="true" /><span>{text}</span></span>
}
