import { useEffect, useState } from 'preact/hooks'
import { held, second } from '../lib/clock'
import { moment, span } from '../lib/format'
import { lastHeard, streamState } from '../live/stream'
import { Icon } from '../ui/icons'
import { phrase, T } from '../texts'

const patience = 3000 // ms; a server that is replaced answers within them

/** Says across the page that what is shown grows old. */
export function LostBar() {
  const lost = streamState.value === 'stale'
  const [since, setSince] = useState(0)
  useEffect(() => {
    setSince(0)
    if (!lost) return
    // A page that nobody saw has heard nothing for longer than it knows.
    const at = lastHeard.peek() || Date.now()
    const t = setTimeout(() => setSince(at), patience)
    return () => clearTimeout(t)
  }, [lost])
  useEffect(() => {
    held.value = lost && since !== 0
  }, [lost, since])
  if (!lost || since === 0) return null
  return <div class="notice lost" role="alert"><Icon name="warning" size={14} /> <span>{phrase(T.$disconnectedSinceTime, { time: moment(since, since) })}</span></div>
}

/** Whether what is shown is of now. */
export function LiveBadge() {
  const s = streamState.value
  const old = s === 'stale' ? (void second.value, span(Math.max(1000, Date.now() - lastHeard.value))) : ''
  const text = s === 'live' ? T.$live2 : s === 'paused' ? T.$paused : s === 'connecting' ? T.$connecting : phrase(T.$staleOld, { old })
  const why = {
    live: T.$changesAppearImmediately, paused: T.$thePageWasHiddenUpdates,
    connecting: T.$theServerHasNotAnsweredYet, stale: T.$connectionLostReconnecting,
  }[s]
  return <span class="live" data-state={s} title={why} role="status"><i aria-hidden="true" /><span>{text}</span></span>
}
