import type { Estimate, RelatedWorkload, Plan as Planned } from '../../api/types'
import { now } from '../../lib/clock'
import { gpus, moment, plural } from '../../lib/format'
import { workloadPath } from '../../lib/router'
import { Card, Facts, Failure, Link, sentence } from '../../ui/basics'
import { Icon, type IconName } from '../../ui/icons'
import { toField } from './form'
import { toLine } from './editor'
import { draft, problems, stale, unreachable } from './state'

/** What would become of the document, as it is at present. */
export function Plan() {
  const d = draft.value
  if (unreachable.value) return <Failure error={unreachable.value} />
  return (
    <Card title="Plan" class="plan" aside={<span role="status">{stale.value ? 'Looking …' : d?.plan ? plural(d.tasks ?? 1, 'task') + ', ' + (d.gpus ? gpus(d.gpus) + (d.gpus === 1 ? ' GPU' : ' GPUs') : 'no GPUs') : ''}</span>}>
      <div id="plan" aria-live="polite" data-stale={stale.value || undefined}>
        {!d ? <p class="muted">What would become of it is said here.</p> : d.plan ? <Outlook p={d.plan} /> : <Wrong />}
      </div>
    </Card>
  )
}

function Headline({ tone, icon, children }: { tone: string; icon: IconName; children: string }) {
  return <p class="headline" data-tone={tone}><Icon name={icon} size={18} /><b>{children}</b></p>
}

function Wrong() {
  const all = problems()
  return (
    <>
      <Headline tone="failed" icon="cross">{all.length === 1 ? 'It would be refused' : `It would be refused: ${all.length} problems`}</Headline>
      <ul class="wrongs">
        {all.map((p, i) => (
          <li key={i}>
            {p.path || p.line
              ? <button type="button" class="wrong-at" onClick={() => { if (!p.path || !toField(p.path)) toLine(p.line ?? 1) }}><code>{p.path || 'line ' + p.line}</code>{p.path && p.line ? <span class="muted"> line {p.line}</span> : null}</button>
              : null}
            <span>{sentence(p.problem)}</span>
            {(p.hint || p.allowed?.length) && <span class="muted">{sentence(p.hint || 'allowed: ' + p.allowed!.join(', '))}</span>}
          </li>
        ))}
      </ul>
    </>
  )
}

function Outlook({ p }: { p: Planned }) {
  const nodes = new Map<string, string[]>()
  for (const t of p.tasks) nodes.set(t.node, [...(nodes.get(t.node) ?? []), ...(t.devices ?? [])])
  const [tone, icon, head]: [string, IconName, string] = p.checks.length && p.fits ? ['queued', 'person', 'There is room, once it is approved']
    : p.now ? ['running', 'tick', 'It starts at once']
      : p.fits ? ['preempted', 'back', `It starts once ${plural(p.displaces.length, 'workload')} made room`]
        : p.reasons.some((r) => r.act === 'change') && p.reasons[0]?.token === 'NeverFits' ? ['blocked', 'noentry', 'It can never start as it is'] : ['queued', 'clock', 'It waits']
  return (
    <>
      <Headline tone={tone} icon={icon}>{head}</Headline>
      {p.reasons.length > 0 && !p.fits && <ul class="plan-reasons">{p.reasons.map((r, i) => <li key={i}><code>{r.token}</code> {sentence(r.message)}{r.hint && r.hint !== 'wait' && <span class="muted"> {sentence(r.hint)}</span>}</li>)}</ul>}
      <Facts of={[
        nodes.size > 0 && ['Where', <>{[...nodes].slice(0, 6).map(([n, devices]) => <span key={n} class="plan-spot">{n}{devices.length > 0 && <span class="muted"> {devices.length > 8 ? plural(devices.length, 'GPU') : devices.join(', ')}</span>}</span>)}{nodes.size > 6 && <span class="muted">and {nodes.size - 6} more nodes</span>}{p.pool && p.pool !== 'default' && <span class="muted"> in {p.pool}</span>}</>],
        p.fits && ['Displaces', p.displaces.length ? <Others of={p.displaces} /> : 'nobody'],
        ['Checks', p.checks.length ? p.checks.join(', ') : 'none'],
        !p.now && !!p.position && ['Queue', `${p.position} of ${Math.max(p.waiting ?? 0, p.position)}`],
        !p.now && p.ahead.length > 0 && ['Ahead of it', <Others of={p.ahead} />],
        !p.now && p.frees.length > 0 && ['Makes room', <Others of={p.frees} ends />],
        !p.fits && !!p.estimate && ['Starts', expected(p.estimate)],
      ]} />
      {!p.now && p.suggestions.length > 0 && (
        <div class="plan-suggestions">
          <h3>It would start now with</h3>
          <ul>{p.suggestions.map((o, i) => <li key={i}><code>{o.flags}</code>{o.displaces.length > 0 && <span class="muted"> displacing {o.displaces.map((n) => n.name).join(', ')}</span>}</li>)}</ul>
        </div>
      )}
    </>
  )
}

function Others({ of, ends = false }: { of: RelatedWorkload[]; ends?: boolean }) {
  return (
    <ul class="plan-others">
      {of.slice(0, 5).map((n) => (
        <li key={n.id}><Link to={workloadPath(n.project, n.name)}>{n.name}</Link> <span class="muted">{[n.user, n.project, n.gpus ? gpus(n.gpus) + ' GPU' + (n.gpus === 1 ? '' : 's') : '', n.cause ?? '', ends && n.end ? 'ends ' + moment(n.end, now.value, false) : ''].filter(Boolean).join(' · ')}</span></li>
      ))}
      {of.length > 5 && <li class="muted">and {of.length - 5} more</li>}
    </ul>
  )
}

function expected(e: Estimate): string {
  const at = (t: string | undefined): string => moment(t, now.value, false)
  if (!e.likely) return e.after ? `after ${at(e.after)}, up to which was looked` : e.early ? `not before ${at(e.early)}; nobody can tell more` : e.late ? `by ${at(e.late)} at the latest` : 'nobody can tell'
  if (e.early && e.late) return `${at(e.likely)} (likely ${at(e.early)}–${at(e.late)})`
  return e.early ? `${at(e.likely)} (not before ${at(e.early)}, perhaps much later)` : at(e.likely)
}
