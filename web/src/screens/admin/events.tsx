import { useRef, useState } from 'preact/hooks'
import { get, params } from '../../api/client'
import type { Transition, TransitionList } from '../../api/types'
import { now } from '../../lib/clock'
import { exact, moment } from '../../lib/format'
import { dialect } from '../../lib/prefs'
import { workloadPath } from '../../lib/router'
import { useReading } from '../../live/fetch'
import { rowOf, rowsVersion } from '../../live/store'
import { Empty, Failure, Link, Loading } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { after, Status } from '../../ui/status'
import { python } from '../../work/acts'
import { mayNot } from '../../live/may'
import { Audit } from './audit'
import { T } from '../../texts'

const page = 1000
const most = 3000 // that are kept, the newest
const seen = 300 // that are shown at first

/** What has happened: to workloads, or by people's hands to everything. */
export function Events() {
  const [of, choose] = useState<'work' | 'audit'>('work')
  const no = mayNot('read', 'audit', '-')
  return (
    <>
      <div class="segments" role="group" aria-label={T.$events}>
        <button type="button" aria-pressed={of === 'work'} onClick={() => choose('work')}>{T.$workloads}</button>
        <button type="button" aria-pressed={of === 'audit'} aria-disabled={no ? true : undefined} title={no} onClick={() => !no && choose('audit')}>{T.$administration}</button>
      </div>
      {of === 'audit' ? <Audit /> : <OfWorkloads />}
    </>
  )
}

/** Everything that has happened to workloads, the newest first: who did it, and why. */
function OfWorkloads() {
  const [filter, setFilter] = useState('')
  const [shown, setShown] = useState(seen)
  const words = dialect.value === 'native' ? '' : dialect.value
  const have = useRef<{ words: string; all: Transition[] }>({ words, all: [] })
  if (have.current.words !== words) have.current = { words, all: [] }
  const { data: all, error, again } = useReading('transitions' + words, async (signal) => {
    const mine = have.current
    for (;;) {
      const after = mine.all[mine.all.length - 1]?.seq ?? 0
      const l = await get<TransitionList>('v1/transitions' + params({ after, last: after === 0 ? most : undefined, limit: page, dialect: words }), signal)
      if (signal.aborted) return mine.all
      if (l.items.length) mine.all = [...mine.all, ...l.items].slice(-most)
      if (l.items.length < page) return mine.all
    }
  }, () => rowsVersion.value, 1000)
  if (error && !all) return <Failure error={error} again={again} />
  if (!all) return <Loading what={T.$loadingEvents} />
  const wanted = filter.toLowerCase().split(/\s+/).filter(Boolean)
  const nameOf = (t: Transition): string => rowOf(t.workload ?? '')?.name ?? ''
  const fit = all.filter((t) => wanted.every((w) => `${nameOf(t)} ${t.actor} ${t.event} ${t.from} ${t.to} ${t.word ?? ''} ${t.reason ?? ''} ${t.cause ?? ''} ${t.message ?? ''}`.toLowerCase().includes(w))).reverse()
  return (
    <>
      <div class="toolbar">
        <label class="filter"><span class="sr">{T.$searchEvents}</span><input type="text" value={filter} placeholder={T.$workloadActorPhaseReason} spellcheck={false} onInput={(e) => setFilter(e.currentTarget.value)} /></label>
        <div class="toolbar-end"><CopyAs of={() => ({ cli: 'muster events', python: python('client.request("GET", "/v1/transitions")'), curl: curl('v1/transitions') })} /></div>
      </div>
      {fit.length === 0 ? <Empty icon="list" title={filter ? T.$noMatches : T.$noEventsYet} /> : (
        <div class="card scroll-x" tabIndex={0} role="region" aria-label={T.$events}>
          <table class="plain rows admin-events">
            <thead><tr><th scope="col">{T.$time}</th><th scope="col">{T.$workload}</th><th scope="col">{T.$to}</th><th scope="col">{T.$event}</th><th scope="col">{T.$actor}</th><th scope="col">{T.$reason}</th></tr></thead>
            <tbody>{fit.slice(0, shown).map((t) => {
              const r = rowOf(t.workload ?? '')
              return (
                <tr key={t.seq}>
                  <td><time dateTime={t.at} title={exact(t.at)}>{moment(t.at, now.value)}</time></td>
                  <td>{r ? <Link to={workloadPath(r.project, r.name)}>{r.name}</Link> : <code class="muted">{t.workload}</code>}</td>
                  <td><Status of={after(t)} plain /></td>
                  <td class="muted">{t.event}</td>
                  <td>{t.actor.replace(/^user:/, '')}</td>
                  <td class="why-cell">{t.reason && <code>{t.reason}</code>} {t.cause && <span class="muted">({t.cause})</span>} {t.message}</td>
                </tr>
              )
            })}</tbody>
          </table>
          {fit.length > shown && <button type="button" class="button field-add" onClick={() => setShown(shown + 1000)}>{T.$showMore}</button>}
        </div>
      )}
    </>
  )
}
