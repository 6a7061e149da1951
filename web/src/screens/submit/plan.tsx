import type { BudgetList, Estimate, RelatedWorkload, Plan as Planned } from '../../api/types'
import { now } from '../../lib/clock'
import { moment, plural } from '../../lib/format'
import { workloadPath } from '../../lib/router'
import { Card, Facts, Failure, Link, sentence } from '../../ui/basics'
import { Icon, type IconName } from '../../ui/icons'
import { toField } from './form'
import { toLine } from './editor'
import { useLive } from '../../live/fetch'
import { cluster, session } from '../../live/store'
import { doc, draft, problems, stale, unreachable } from './state'
import { phrase, T } from '../../texts'

/** What would become of the document, as it is at present. */
export function Plan() {
  const d = draft.value
  if (unreachable.value) return <Failure error={unreachable.value} />
  return (
    <Card title={T.$plan} class="plan" aside={<span role="status">{stale.value ? T.$evaluating : d?.plan ? plural(d.tasks ?? 1, T.$nTasks) + ', ' + (d.gpus ? plural(d.gpus, T.$nGPUs) : T.$noGPUs) : ''}</span>}>
      <div id="plan" aria-live="polite" data-stale={stale.value || undefined}>
        {!d ? <p class="muted">{T.$thePlanForThisDocumentIs}</p> : d.plan ? <><Outlook p={d.plan} />{(d.warnings ?? []).map((w) => <p key={w} class="plan-warning" data-tone="preempted" role="note"><Icon name="warning" size={16} /> {sentence(w)}</p>)}<Rest /></> : <Wrong />}
      </div>
    </Card>
  )
}

/** What is left of the budgets that hold for the document's project. */
function Rest() {
  const all = useLive<BudgetList>('v1/budgets', 'beat', 60_000).data?.items ?? []
  const projects = cluster.value?.projects ?? []
  const line: string[] = []
  for (let at: string | undefined = String(doc.value?.project ?? 'default'); at && line.length < 64; at = projects.find((p) => p.name === at)?.parent) line.push(at)
  const mine = all.filter((b) => line.includes(b.project) && (!b.user || b.user === session.value?.user))
  if (mine.length === 0) return null
  return <Facts of={[[T.$leftOfBudgets, <>{mine.slice(0, 6).map((b, i) => <div key={i} data-tone={b.state === 'over' ? 'failed' : undefined}>{phrase(T.$leftOfBudget, { left: Math.max(0, b.amount - b.used).toFixed(1), amount: b.amount.toFixed(1), unit: b.currency || T.$gpuHours, project: b.project, end: moment(b.ends, now.value, false) })}</div>)}</>]]} />
}

function Headline({ tone, icon, children }: { tone: string; icon: IconName; children: string }) {
  return <p class="headline" data-tone={tone}><Icon name={icon} size={18} /><b>{children}</b></p>
}

function Wrong() {
  const all = problems()
  return (
    <>
      <Headline tone="failed" icon="cross">{all.length === 1 ? T.$theServerWouldRejectIt : phrase(T.$theServerWouldRejectItAll, { all: all.length })}</Headline>
      <ul class="wrongs">
        {all.map((p, i) => (
          <li key={i}>
            {p.path || p.line
              ? <button type="button" class="wrong-at" onClick={() => { if (!p.path || !toField(p.path)) toLine(p.line ?? 1) }}><code>{p.path || phrase(T.$lineLine, { line: p.line })}</code>{p.path && p.line ? <span class="muted">{phrase(T.$lineLine2, { line: p.line })}</span> : null}</button>
              : null}
            <span>{sentence(p.problem)}</span>
            {(p.hint || p.allowed?.length) && <span class="muted">{sentence(p.hint || phrase(T.$allowedListLower, { list: p.allowed!.join(', ') }))}</span>}
          </li>
        ))}
      </ul>
    </>
  )
}

function Outlook({ p }: { p: Planned }) {
  const nodes = new Map<string, string[]>()
  for (const t of p.tasks) nodes.set(t.node, [...(nodes.get(t.node) ?? []), ...(t.devices ?? [])])
  const [tone, icon, head]: [string, IconName, string] = p.checks.length && p.fits ? ['queued', 'person', T.$startsOnceItIsApproved]
    : p.now ? ['running', 'tick', T.$startsAtOnce]
      : p.fits ? ['preempted', 'back', phrase(T.$startsAfterPreempting, { workloads: plural(p.displaces.length, T.$nWorkloads) })]
        : p.reasons.some((r) => r.never) ? ['blocked', 'noentry', T.$canNeverStartAsItIs] : ['queued', 'clock', T.$waitsInTheQueue]
  return (
    <>
      <Headline tone={tone} icon={icon}>{head}</Headline>
      {p.reasons.length > 0 && !p.fits && <ul class="plan-reasons">{p.reasons.map((r, i) => <li key={i}><code>{r.token}</code> {sentence(r.message)}{r.hint && r.hint !== 'wait' && <span class="muted"> {sentence(r.hint)}</span>}</li>)}</ul>}
      <Facts of={[
        nodes.size > 0 && [T.$nodes, <>{[...nodes].slice(0, 6).map(([n, devices]) => <span key={n} class="plan-spot">{n}{devices.length > 0 && <span class="muted"> {devices.length > 8 ? plural(devices.length, T.$nGPUs) : devices.join(', ')}</span>}</span>)}{nodes.size > 6 && <span class="muted">{phrase(T.$andSizeMoreNodes, { size: nodes.size - 6 })}</span>}{p.pool && p.pool !== 'default' && <span class="muted">{phrase(T.$inPool, { pool: p.pool })}</span>}</>],
        p.fits && [T.$preempts, p.displaces.length ? <Others of={p.displaces} /> : T.$nobody],
        [T.$checks, p.checks.length ? p.checks.join(', ') : T.$none2],
        !p.now && !!p.position && [T.$queue, phrase(T.$usedOfTotal, { used: p.position, total: Math.max(p.waiting ?? 0, p.position) })],
        !p.now && p.ahead.length > 0 && [T.$aheadInTheQueue, <Others of={p.ahead} />],
        !p.now && p.frees.length > 0 && [T.$makesRoom, <Others of={p.frees} ends />],
        !p.fits && !!p.estimate && [T.$start, expected(p.estimate)],
      ]} />
      {!p.now && p.suggestions.length > 0 && (
        <div class="plan-suggestions">
          <h3>{T.$wouldStartNowWith}</h3>
          <ul>{p.suggestions.map((o, i) => <li key={i}><code>{o.flags}</code>{o.displaces.length > 0 && <span class="muted">{phrase(T.$preemptingList, { list: o.displaces.map((n) => n.name).join(', ') })}</span>}</li>)}</ul>
        </div>
      )}
    </>
  )
}

function Others({ of, ends = false }: { of: RelatedWorkload[]; ends?: boolean }) {
  return (
    <ul class="plan-others">
      {of.slice(0, 5).map((n) => (
        <li key={n.id}>{n.name ? <Link to={workloadPath(n.project, n.name)}>{n.name}</Link> : T.$workYouMayNotSee} <span class="muted">{[n.user, n.project, n.gpus ? plural(n.gpus, T.$nGPUs) : '', n.cause ?? '', ends && n.end ? phrase(T.$endsTime, { time: moment(n.end, now.value, false) }) : ''].filter(Boolean).join(' · ')}</span></li>
      ))}
      {of.length > 5 && <li class="muted">{phrase(T.$andSideMostMore, { sideMost: of.length - 5 })}</li>}
    </ul>
  )
}

function expected(e: Estimate): string {
  const at = (t: string | undefined): string => moment(t, now.value, false)
  if (!e.likely) return e.after ? phrase(T.$notBeforeTimeTheEndOfThe, { time: at(e.after) }) : e.early ? phrase(T.$notBeforeTimeNoCloser, { time: at(e.early) }) : e.late ? phrase(T.$byTimeAtTheLatest, { time: at(e.late) }) : T.$unknownLower
  if (e.early && e.late) return phrase(T.$timeLikelyTime2Time3, { time: at(e.likely), time2: at(e.early), time3: at(e.late) })
  return e.early ? phrase(T.$timeNotBeforeTime2Possibly, { time: at(e.likely), time2: at(e.early) }) : at(e.likely)
}
