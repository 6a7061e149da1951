// Why one workload waits: what stands in the way, when that ends, who is before
// it, and with which changes it would start now.
import './why.css'
import type { ComponentChildren } from 'preact'
import { workloadURL } from '../api/client'
import type { Estimate, RelatedWorkload, Suggestion, PendingReason, Why } from '../api/types'
import { now } from '../lib/clock'
import { bytes, gpus, moment, ms, plural, span } from '../lib/format'
import { workloadPath } from '../lib/router'
import { useLive } from '../live/fetch'
import { rowNamed } from '../live/store'
import { Age, Button, Failure, Link, Loading, sentence } from '../ui/basics'
import { CopyAs, curl } from '../ui/copyas'
import { Icon, type IconName } from '../ui/icons'
import { later } from '../lib/later'
import { copy } from '../ui/overlay'
import { Status } from '../ui/status'
import { named, pyNamed, python, refusal } from './acts'
import { Remedy } from './remedy'
import { PriorityPick } from './priority'
import { estimateOf } from './start'
import { phrase, T } from '../texts'

const who: Record<string, [string, IconName]> = { wait: [T.$noActionNeeded2, 'clock'], change: [T.$youCanChangeThis, 'person'], ask: [T.$askAnAdministrator, 'people'] }

/** Counted in thousandths: what quotas and limits say of devices and cores. */
const milli = (r: PendingReason): boolean => r.resource === 'cpu' || (r.resource === 'gpu' && !!(r.queue || r.user))

function value(r: PendingReason, n: number): string {
  if (r.resource === 'memory') return bytes(n)
  return gpus(milli(r) ? n / 1000 : n)
}

/** The numbers of a reason, each with what it counts. */
export function numbers(r: PendingReason): [string, string][] {
  const out: [string, string][] = []
  const add = (name: string, n: number | undefined): void => {
    if (n !== undefined && n !== null) out.push([name, value(r, n)])
  }
  if (r.queue || r.user) {
    add(r.user ? phrase(T.$usedByUser, { user: r.user }) : T.$inUse, r.allocated)
    add(T.$quotaLower, r.quota)
    add(T.$limitLower, r.limit)
    add(T.$fairShareLower, r.share)
    add(T.$requestedLower, r.requested)
  } else {
    if (r.part) {
      out.push([T.$needs, gpus(r.part / 1000)], [T.$freeLower, gpus((r.freeParts ?? 0) / 1000)], [T.$largestFreeFraction, gpus((r.largestPart ?? 0) / 1000)])
      if (r.pool) out.push([T.$poolLower, r.pool])
      return out
    }
    add(T.$needs, r.needed ?? r.requested)
    if (r.total !== undefined) add(T.$freeLower, r.free ?? 0)
    add(T.$totalLower, r.total)
    add(T.$largestNode, r.largest)
  }
  if (r.fitting !== undefined && r.tasks !== undefined) out.push([T.$tasksThatFitNow, phrase(T.$usedOfTotal, { used: r.fitting, total: plural(r.tasks, T.$nTasks) })])
  if (r.nodes !== undefined && r.ofNodes) out.push([T.$nodesThatLackIt, phrase(T.$usedOfTotal, { used: r.nodes, total: plural(r.ofNodes, T.$nNodes) })])
  if (r.excluded) out.push([T.$unsuitableNodes, plural(r.excluded, T.$nNodes)])
  if (r.pool) out.push([T.$poolLower, r.pool])
  return out
}

/** When something is expected to start, and what that is founded on. */
export function Expected({ e }: { e: Estimate }) {
  const at = now.value
  const late = ms(e.late ?? e.after ?? e.likely)
  const likely = ms(e.likely)
  const early = ms(e.early)
  const end = Math.max(late, likely || 0, early || 0)
  const x = (t: number): number => Math.max(0, Math.min(100, ((t - at) / Math.max(1000, end - at)) * 100))
  const runs = [e.learnt && phrase(T.$learntByTheRunTimesOf, { learnt: e.learnt }), e.limits && phrase(T.$limitsByTheirTimeLimits, { limits: e.limits }), e.unknown && phrase(T.$unknownWithUnknownEnd, { unknown: e.unknown })].filter(Boolean).join(', ')
  const basis = e.simple ? T.$theFirstKnownEndOfA : runs ? phrase(T.$basedOnRunningWorkloads, { runs }) : ''
  const said = !e.likely
    ? e.after ? phrase(T.$notBeforeTimeTheEndOfThe2, { time: moment(e.after, at, false) }) : e.late && !e.early ? phrase(T.$byTimeAtTheLatestThenOther, { time: moment(e.late, at, false) }) : e.early ? phrase(T.$notBeforeTimeNoCloser2, { time: moment(e.early, at, false) }) : T.$unknown
    : phrase(T.$timeInTime2, { time: moment(e.likely, at, false), time2: span(Math.max(0, likely - at)) })
  return (
    <section class="expect" aria-label={T.$expectedStart}>
      <h3>{T.$expectedStart}</h3>
      <p class="expect-when">{said}</p>
      {e.early && e.late && e.likely && end > at && (
        <div class="expect-bar" role="img" aria-label={phrase(T.$betweenTimeAndTime2Most, { time: moment(e.early, at, false), time2: moment(e.late, at, false), time3: moment(e.likely, at, false) })}>
          <span style={{ left: x(early) + '%', width: Math.max(1, x(late) - x(early)) + '%' }} />
          <i style={{ left: x(likely) + '%' }} />
          <small style={{ left: 0 }}>{T.$now}</small>
          <small style={{ right: 0 }}>{moment(e.late, at, false)}</small>
        </div>
      )}
      <p class="muted">
        {e.early && e.late && e.likely ? phrase(T.$betweenTimeAndTime2InNine, { time: moment(e.early, at, false), time2: moment(e.late, at, false) }) : ''}{basis}
        {e.early && e.late ? (e.scored >= 10 ? phrase(T.$scoredOfScored2Past, { scored: Math.round((e.inside / e.scored) * 100), scored2: e.scored, more: e.widthSeconds ? phrase(T.$withATypicalRangeOfTimeFor, { time: span(e.widthSeconds * 1000), time2: span((e.waitSeconds ?? 0) * 1000) }) : '' }) : phrase(T.$tooFewPastEstimatesScored, { scored: e.scored })) : ''}
      </p>
    </section>
  )
}

function People({ title, of, more = 0, head, cell }: { title: string; of: RelatedWorkload[]; more?: number; head: string; cell: (n: RelatedWorkload) => ComponentChildren }) {
  if (of.length === 0) return null
  return (
    <section>
      <h3>{title}</h3>
      <table class="plain">
        <thead><tr><th scope="col">{T.$workload}</th><th scope="col">{T.$owner}</th><th scope="col" class="end">{T.$gpus}</th><th scope="col" class="end">{head}</th></tr></thead>
        <tbody>{of.map((n) => (
          <tr key={n.id}><td><Link to={workloadPath(n.project, n.name)}>{n.name}</Link></td><td class="muted">{n.project} · {n.user}</td><td class="end">{n.gpus || '–'}</td><td class="end">{cell(n)}</td></tr>
        ))}</tbody>
      </table>
      {more > 0 && <p class="muted">{phrase(T.$andSideMostMore, { sideMost: more })}</p>}
    </section>
  )
}

/** What taking an offer is called: who displaces somebody starts once they have left. */
const label = (o: Suggestion): string => (o.now || o.displaces.length > 0 ? T.$startNow : o.flags.startsWith('--priority') ? T.$raiseThePriority : T.$apply)

function SuggestionLine({ o, of }: { o: Suggestion; of: { project: string; name: string } }) {
  const row = rowNamed(of.project, of.name)
  const no = row && refusal({ id: /^--priority |^--set preemptible=/.test(o.flags) ? 'change' : 'stop' }, row)
  return (
    <li class="offer">
      <div>
        <code>{o.flags}</code>
        {o.displaces.length > 0
          ? <div class="muted">{phrase(T.$preemptsGpusMore, { gpus: o.displaces.slice(0, 4).map((n) => `${n.name} (${plural(n.gpus, T.$nGPUs)}, ${n.project}, ${n.user})`).join(', '), more: o.displaces.length > 4 && phrase(T.$andOpenMore, { open: o.displaces.length - 4 }) })}</div>
          : !o.now && <div class="muted">{T.$onceItsPlaceIsFree}</div>}
      </div>
      {row && <Button kind="main" refused={no} aria-label={`${label(o)}: ${o.flags}`} onClick={() => later((l) => void l.takeOffer(o, row, label(o)))}>{label(o)}</Button>}
      <Link class="button plain" to={`submit?from=${encodeURIComponent(of.project)}/${encodeURIComponent(of.name)}&with=${encodeURIComponent(o.flags)}`} aria-label={phrase(T.$copyAndEditWithFlags, { flags: o.flags })}><span>{T.$copyAndEditWithThis}</span></Link>
      <Button kind="quiet" icon="copy" aria-label={phrase(T.$copyFlags, { flags: o.flags })} onClick={() => void copy(o.flags)} />
    </li>
  )
}

/** Changes with which it would start, each to be taken. */
export function Offers({ y }: { y: Why }) {
  if (y.suggestions.length === 0) return null
  return (
    <section>
      <h3>{phrase(T.$wouldStartMoreWith, { more: y.suggestions.every((o) => o.now) ? T.$now : T.$sooner })}</h3>
      <ul class="suggestions">{y.suggestions.map((o) => <SuggestionLine key={o.flags} o={o} of={y} />)}</ul>
    </section>
  )
}

/** The range of an end. */
const ending = (n: RelatedWorkload): string => moment(n.end, now.value, false) + (n.early && n.late && ms(n.late) - ms(n.early) >= 120_000 ? ` ±${span((ms(n.late) - ms(n.early)) / 2).split(' ')[0]}` : '')

/** All of it, read anew whenever something changes. */
export function WhyPanel({ project, name, close }: { project: string; name: string; close?: () => void }) {
  const { data: y, error, again } = useLive<Why>(workloadURL(project, name) + '/why', 'changes', 5000)
  if (error && !y) return <Failure error={error} again={again} />
  if (!y) return <Loading what={T.$askingTheScheduler} rows={5} />
  const noted = y.checked.filter((c) => c.note)
  return (
    <div class="why">
      <header class="why-head">
        <div>
          <h2><Link to={workloadPath(y.project, y.name)}>{y.name}</Link></h2>
          <div class="page-sub">
            <Status of={{ phase: y.phase, ...(y.reason ? { reason: y.reason } : {}), words: rowNamed(y.project, y.name)?.words ?? {} }} plain />
            <span>{phrase(T.$forAge, { age: <Age counted at={y.since} /> })}</span>
            {y.running ? <span>{phrase(T.$tasksRunningTheOthersAre, { tasks: plural(y.running, T.$nTasks) })}</span> : y.position ? <span>{phrase(T.$positionOfMoreInProject, { position: y.position, more: Math.max(y.position, y.waiting ?? 0), project: y.project })}</span> : <span>{y.project}</span>}
          </div>
        </div>
        <CopyAs of={() => ({
          cli: `muster why ${named(y)}`,
          python: python(`print(client.why(${pyNamed(y)}))`),
          curl: curl(workloadURL(y.project, y.name) + '/why'),
        })} />
        {close && <Button kind="quiet" icon="close" aria-label={T.$close} onClick={close} />}
      </header>
      {!y.waits && <p>{y.phase === 'Running' ? T.$runningNothingBlocksIt : y.message ? sentence(y.message) : T.$nothingBlocksIt}</p>}
      {y.reasons.length > 0 && (
        <section>
          <h3>{y.reasons.length > 1 ? T.$blockedByMostSeriousFirst : T.$blockedBy}</h3>
          <ol class="blockers">
            {y.reasons.map((r, i) => {
              const [text, icon] = who[r.act] ?? [r.act, 'info']
              return (
                <li key={r.token + i} class="blocker" data-grave={r.never || undefined}>
                  <p><code>{r.token}</code> <span class="act"><Icon name={icon} size={13} />{text}</span></p>
                  <p>{sentence(r.message)}</p>
                  {numbers(r).length > 0 && <div class="numbers">{numbers(r).map(([k, v]) => <span key={k}>{k} <b>{v}</b></span>)}</div>}
                  {r.hint && r.hint !== 'wait' && <p class="muted">{sentence(r.hint)}</p>}
                  <Remedy token={r.token} of={rowNamed(y.project, y.name)} />
                </li>
              )
            })}
          </ol>
        </section>
      )}
      {y.reasons.some((r) => r.never) && <p class="never"><Icon name="noentry" size={14} />{T.$neverStartsAsItIs}</p>}
      {y.estimate && <Expected e={estimateOf(y.id, y.estimate)!} />}
      <People title={T.$aheadInTheQueue} of={y.ahead} more={Math.max(0, (y.position ?? 1) - 1 - y.ahead.length)} head={T.$likelyStart} cell={(n) => (n.start ? moment(n.start, now.value, false) : '–')} />
      <People title={T.$workloadsWhoseEndMakesRoom} of={y.frees} head={T.$expectedEnd} cell={ending} />
      {y.frees.length === 0 && <People title={T.$workloadsThatUseTheMissing} of={y.holders.slice(0, 5)} more={Math.max(0, y.holders.length - 5)} head={T.$since} cell={(n) => <Age at={n.since ?? y.since} />} />}
      <Offers y={y} />
      {y.checked.length > 0 && (
        <section>
          <h3>{T.$checkedAndNotBlocking}</h3>
          <div class="fine">{y.checked.map((c) => <span key={c.what} title={c.note}><Icon name="tick" size={13} />{c.what}</span>)}</div>
          {noted.length > 0 && <p class="sr">{noted.map((c) => `${c.what}: ${c.note}`).join('; ')}</p>}
        </section>
      )}
      {y.waits && <PriorityPick id={y.id} />}
      <p class="muted">{phrase(T.$evaluatedAtTime, { time: moment(y.evaluatedAt, now.value) })}</p>
    </div>
  )
}
