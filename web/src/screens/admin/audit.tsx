// What people have done to everything that is no workload, and to workloads too: the
// audit log, the newest first.
import { useState } from 'preact/hooks'
import { get, params } from '../../api/client'
import type { AccessControl, AuditEntry, AuditList } from '../../api/types'
import { now } from '../../lib/clock'
import { exact, moment } from '../../lib/format'
import { useLive, useReading } from '../../live/fetch'
import { Empty, Failure, Loading } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { TaskStatus } from '../../ui/status'
import { python } from '../../work/acts'
import { phrase, T } from '../../texts'

const page = 200

export function Audit() {
  const [filter, setFilter] = useState('')
  const [many, setMany] = useState(page)
  const { data: access } = useLive<AccessControl>('v1/access', 'never')
  const { data, error, again } = useReading<AuditEntry[]>('audit' + many, async (signal) => {
    const all: AuditEntry[] = []
    for (let cursor = '';;) {
      const l = await get<AuditList>('v1/audit' + params({ limit: page, cursor }), signal)
      all.push(...l.items)
      if (!l.next || all.length >= many) return all
      cursor = l.next
    }
  }, 'beat', 3000)
  if (error && !data) return <Failure error={error} again={again} />
  if (!data || !access) return <Loading what={T.$loadingEvents} />
  const wanted = filter.toLowerCase().split(/\s+/).filter(Boolean)
  const fit = data.filter((e) => wanted.every((w) => [e.actor, e.verb, e.noun, e.object, e.message, e.result, ...(e.changes ?? []).flatMap((c) => [c.object, c.before, c.after])].join(' ').toLowerCase().includes(w)))
  return (
    <>
      <div class="toolbar">
        <label class="filter"><span class="sr">{T.$searchEvents}</span><input type="text" value={filter} placeholder={T.$actorActionObject} spellcheck={false} onInput={(e) => setFilter(e.currentTarget.value)} /></label>
        <div class="toolbar-end"><CopyAs of={() => ({ cli: 'muster audit', python: python('client.request("GET", "/v1/audit")'), curl: curl('v1/audit') })} /></div>
      </div>
      {!access.audit && <p class="notice-line">{phrase(T.$theAuditLogIsOffCode, { code: <code>muster access audit on</code> })}</p>}
      {fit.length === 0 ? <Empty icon="list" title={filter ? T.$noMatches : T.$noEventsYet} /> : (
        <div class="card scroll-x" tabIndex={0} role="region" aria-label={T.$administration}>
          <table class="plain rows admin-events">
            <thead><tr><th scope="col">{T.$time}</th><th scope="col">{T.$actor}</th><th scope="col">{T.$action}</th><th scope="col">{T.$object}</th><th scope="col">{T.$outcome}</th><th scope="col">{T.$changed}</th></tr></thead>
            <tbody>{fit.map((e) => (
              <tr key={e.seq}>
                <td><time dateTime={e.at} title={exact(e.at)}>{moment(e.at, now.value)}</time></td>
                <td title={e.address}>{e.actor.replace(/^user:/, '')}</td>
                <td>{[e.verb, e.noun].filter(Boolean).join(' ') || <code>{e.action}</code>}</td>
                <td>{e.object || <span class="none">–</span>}</td>
                <td><TaskStatus state={e.result === 'done' ? 'succeeded' : 'failed'} label={e.result} /></td>
                <td class="why-cell">{e.message}{(e.changes ?? []).map((c) => <div key={c.object}><Change of={c} /></div>)}</td>
              </tr>
            ))}</tbody>
          </table>
          {data.length >= many && <button type="button" class="button field-add" onClick={() => setMany(many + 5 * page)}>{T.$showMore}</button>}
        </div>
      )}
    </>
  )
}

const parsed = (text: string | undefined): Record<string, unknown> => {
  try {
    const v: unknown = JSON.parse(text ?? '{}')
    return typeof v === 'object' && v !== null && !Array.isArray(v) ? (v as Record<string, unknown>) : { '': v }
  } catch {
    return { '': text }
  }
}

const most = 4 // fields that are told of a change

/** The fields in which what was and what is differ. */
function Change({ of: c }: { of: { object: string; before?: string; after?: string } }) {
  const [a, b] = [parsed(c.before), parsed(c.after)]
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((k) => JSON.stringify(a[k]) !== JSON.stringify(b[k]))
  const say = (v: unknown): string => (v === undefined || v === null ? '–' : typeof v === 'object' ? JSON.stringify(v) : String(v)).slice(0, 80)
  return <><code>{c.object}</code> {!c.before ? <span class="muted">{T.$wasMade}</span> : !c.after ? <span class="muted">{T.$isGone}</span> : <>{keys.slice(0, most).map((k) => `${k} ${say(a[k])} → ${say(b[k])}`).join(', ')}{keys.length > most && ' …'}</>}</>
}
