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
import { copy } from '../ui/overlay'
import { Status } from '../ui/status'
import { named, pyNamed, python } from './acts'
import { PriorityPick } from './priority'

const who: Record<string, [string, IconName]> = { wait: ['Time will tell', 'clock'], change: ['You can change it', 'person'], ask: ['Ask an administrator', 'people'] }

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
    add(r.user ? `${r.user} has` : 'in use', r.allocated)
    add('quota', r.quota)
    add('limit', r.limit)
    add('fair share', r.share)
    add('asks for', r.requested)
  } else {
    if (r.part) {
      out.push(['needs', gpus(r.part / 1000)], ['free', gpus((r.freeParts ?? 0) / 1000)], ['largest part', gpus((r.largestPart ?? 0) / 1000)])
      if (r.pool) out.push(['pool', r.pool])
      return out
    }
    add('needs', r.needed ?? r.requested)
    if (r.total !== undefined) add('free', r.free ?? 0)
    add('in all', r.total)
    add('most on one node', r.largest)
  }
  if (r.fitting !== undefined && r.tasks !== undefined) out.push(['fit now', `${r.fitting} of ${plural(r.tasks, 'task')}`])
  if (r.nodes !== undefined && r.ofNodes) out.push(['lack it', `${r.nodes} of ${plural(r.ofNodes, 'node')}`])
  if (r.excluded) out.push(['do not suit', plural(r.excluded, 'node')])
  if (r.pool) out.push(['pool', r.pool])
  return out
}

/** An expected start in a few words. */
export function when(e: Estimate | undefined, at: number): string {
  if (!e) return ''
  const t = (x: string | undefined): string => moment(x, at, false)
  if (!e.likely) {
    if (e.after) return 'after ' + t(e.after)
    if (e.late && !e.early) return 'by ' + t(e.late)
    return e.early ? 'not before ' + t(e.early) : 'nobody can tell'
  }
  if (!e.early || !e.late) return t(e.likely)
  return t(e.early) === t(e.late) ? t(e.likely) : `${t(e.early)} – ${t(e.late)}`
}

/** When something is expected to start, and what that is founded on. */
export function Expected({ e }: { e: Estimate }) {
  const at = now.value
  const late = ms(e.late ?? e.after ?? e.likely)
  const likely = ms(e.likely)
  const early = ms(e.early)
  const end = Math.max(late, likely || 0, early || 0)
  const x = (t: number): number => Math.max(0, Math.min(100, ((t - at) / Math.max(1000, end - at)) * 100))
  const runs = [e.learnt && `${e.learnt} by how long their likes ran`, e.limits && `${e.limits} by their time limits`, e.unknown && `${e.unknown} with no known end`].filter(Boolean).join(', ')
  const basis = e.simple ? 'The first known end after which there is room; there is too much to simulate.' : runs ? `Of what runs ${runs}; if nobody submits more.` : ''
  const said = !e.likely
    ? e.after ? `After ${moment(e.after, at, false)}, up to which was looked` : e.late && !e.early ? `By ${moment(e.late, at, false)} at the latest: by then others have to give way` : e.early ? `Not before ${moment(e.early, at, false)}; nobody can tell more` : 'Nobody can tell'
    : `${moment(e.likely, at, false)}, in ${span(Math.max(0, likely - at))}`
  return (
    <section class="expect" aria-label="Expected start">
      <h3>Expected start</h3>
      <p class="expect-when">{said}</p>
      {e.early && e.late && e.likely && end > at && (
        <div class="expect-bar" role="img" aria-label={`Between ${moment(e.early, at, false)} and ${moment(e.late, at, false)}, likely ${moment(e.likely, at, false)}`}>
          <span style={{ left: x(early) + '%', width: Math.max(1, x(late) - x(early)) + '%' }} />
          <i style={{ left: x(likely) + '%' }} />
          <small style={{ left: 0 }}>now</small>
          <small style={{ right: 0 }}>{moment(e.late, at, false)}</small>
        </div>
      )}
      <p class="muted">
        {e.early && e.late && e.likely ? `Between ${moment(e.early, at, false)} and ${moment(e.late, at, false)} in nine cases of ten. ` : ''}{basis}
        {e.early && e.late ? (e.scored >= 10 ? ` ${Math.round((e.inside / e.scored) * 100)} % of ${e.scored} past estimates were right${e.width ? `, typically ${span(e.width * 1000)} wide where the wait was ${span((e.wait ?? 0) * 1000)}` : ''}.` : ` Too few past estimates (${e.scored}) to say how good they are.`) : ''}
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
        <thead><tr><th scope="col">Workload</th><th scope="col">Of</th><th scope="col" class="end">GPUs</th><th scope="col" class="end">{head}</th></tr></thead>
        <tbody>{of.map((n) => (
          <tr key={n.id}><td><Link to={workloadPath(n.project, n.name)}>{n.name}</Link></td><td class="muted">{n.project} · {n.user}</td><td class="end">{n.gpus || '–'}</td><td class="end">{cell(n)}</td></tr>
        ))}</tbody>
      </table>
      {more > 0 && <p class="muted">and {more} more</p>}
    </section>
  )
}

function SuggestionLine({ o, of }: { o: Suggestion; of: { project: string; name: string } }) {
  return (
    <li class="offer">
      <div>
        <code>{o.flags}</code>
        {o.displaces.length > 0
          ? <div class="muted">displaces {o.displaces.slice(0, 4).map((n) => `${n.name} (${plural(n.gpus, 'GPU')}, ${n.project}, ${n.user})`).join(', ')}{o.displaces.length > 4 && ` and ${o.displaces.length - 4} more`}</div>
          : !o.now && <div class="muted">once its place is free</div>}
      </div>
      <Link class="button plain" to={`submit?from=${encodeURIComponent(of.project)}/${encodeURIComponent(of.name)}&with=${encodeURIComponent(o.flags)}`} aria-label={'Copy and edit with this: ' + o.flags}><span>Copy and edit with this</span></Link>
      <Button kind="quiet" icon="copy" aria-label={'Copy ' + o.flags} onClick={() => void copy(o.flags)} />
    </li>
  )
}

/** Changes with which it would start, each to be taken. */
export function Offers({ y }: { y: Why }) {
  if (y.suggestions.length === 0) return null
  return (
    <section>
      <h3>It would start {y.suggestions.every((o) => o.now) ? 'now' : 'sooner'} with</h3>
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
  if (!y) return <Loading what="Asking the scheduler" rows={5} />
  const noted = y.checked.filter((c) => c.note)
  return (
    <div class="why">
      <header class="why-head">
        <div>
          <h2><Link to={workloadPath(y.project, y.name)}>{y.name}</Link></h2>
          <div class="page-sub">
            <Status of={{ phase: y.phase, ...(y.reason ? { reason: y.reason } : {}), words: rowNamed(y.project, y.name)?.words ?? {} }} plain />
            <span>for <Age at={y.since} /></span>
            {y.running ? <span>{plural(y.running, 'task')} of it run, the others wait</span> : y.position ? <span>#{y.position} of {Math.max(y.position, y.waiting ?? 0)} in {y.project}</span> : <span>{y.project}</span>}
          </div>
        </div>
        <CopyAs of={() => ({
          cli: `muster why ${named(y)}`,
          python: python(`print(client.why(${pyNamed(y)}))`),
          curl: curl(workloadURL(y.project, y.name) + '/why'),
        })} />
        {close && <Button kind="quiet" icon="close" aria-label="Close" onClick={close} />}
      </header>
      {!y.waits && <p>{y.phase === 'Running' ? 'It runs: nothing keeps it.' : y.message ? sentence(y.message) : 'Nothing keeps it from running.'}</p>}
      {y.reasons.length > 0 && (
        <section>
          <h3>{y.reasons.length > 1 ? 'What stands in the way, the gravest first' : 'What stands in the way'}</h3>
          <ol class="blockers">
            {y.reasons.map((r, i) => {
              const [text, icon] = who[r.act] ?? [r.act, 'info']
              return (
                <li key={r.token + i} class="blocker" data-grave={r.token === 'NeverFits' || undefined}>
                  <p><code>{r.token}</code> <span class="act"><Icon name={icon} size={13} />{text}</span></p>
                  <p>{sentence(r.message)}</p>
                  {numbers(r).length > 0 && <div class="numbers">{numbers(r).map(([k, v]) => <span key={k}>{k} <b>{v}</b></span>)}</div>}
                  {r.hint && r.hint !== 'wait' && <p class="muted">{sentence(r.hint)}</p>}
                </li>
              )
            })}
          </ol>
        </section>
      )}
      {y.estimate && <Expected e={y.estimate} />}
      <People title="Ahead of it" of={y.ahead} more={Math.max(0, (y.position ?? 1) - 1 - y.ahead.length)} head="Likely start" cell={(n) => (n.start ? moment(n.start, now.value, false) : '–')} />
      <People title="Whose end makes room" of={y.frees} head="Likely end" cell={ending} />
      {y.frees.length === 0 && <People title="Who holds what is missing" of={y.holders.slice(0, 5)} more={Math.max(0, y.holders.length - 5)} head="For" cell={(n) => <Age at={n.since ?? y.since} />} />}
      <Offers y={y} />
      {y.checked.length > 0 && (
        <section>
          <h3>Looked at, and fine</h3>
          <div class="fine">{y.checked.map((c) => <span key={c.what} title={c.note}><Icon name="tick" size={13} />{c.what}</span>)}</div>
          {noted.length > 0 && <p class="sr">{noted.map((c) => `${c.what}: ${c.note}`).join('; ')}</p>}
        </section>
      )}
      {y.waits && <PriorityPick id={y.id} />}
      <p class="muted">The scheduler was asked at {moment(y.evaluatedAt, now.value)}.</p>
    </div>
  )
}
