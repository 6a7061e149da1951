import type { FirstErrorResult, Why, Workload } from '../../api/types'
import { workloadURL } from '../../api/client'
import { now } from '../../lib/clock'
import { exact, ms, span } from '../../lib/format'
import { lazy } from '../../lib/lazy'
import { workloadPath } from '../../lib/router'
import { useLive } from '../../live/fetch'
import { cluster, rowNamed, waits } from '../../live/store'
import { Age, Bar, Card, Facts, Link, sentence } from '../../ui/basics'
import { refusal } from '../../work/acts'
import { Gantt } from './gantt'
import { Lifeline } from './lifeline'
import { Pending } from './pending'
import { phrase, T } from '../../texts'

const Figures = lazy(() => import('../../later').then((m) => m.Figures))

export function Overview({ w }: { w: Workload }) {
  const { data: why } = useLive<Why>(w.phase === 'Queued' ? workloadURL(w.project, w.name) + '/why' : null, () => {
    const x = waits.value.get(w.id)
    return x && `${x.position} ${x.token}`
  }, 5000)
  return (
    <div class="overview">
      <Lifeline w={w} />
      {w.pending && w.pending.reasons.length > 0 && <Pending w={w} why={why} />}
      <FirstError w={w} />
      <MoreMemory w={w} />
      {w.attempts.some((a) => a.startedAt) && <Figures w={w} />}
      <Card title={T.$attempts} class="wide"><Gantt w={w} why={why} /></Card>
      <Card title={T.$details}><General w={w} /></Card>
      <Card title={T.$requested}><Asked w={w} /></Card>
    </div>
  )
}

const failed = new Set(['Failed', 'Lost', 'TimedOut', 'Backoff', 'Restarting'])

/** Whether tasks of it fail and are started again in place, between which it runs. */
const crashing = (w: Workload): boolean => !w.endedAt && (w.attempts[w.attempts.length - 1]?.tasks ?? []).some((t) => (t.restarts ?? 0) > 0 || t.state === 'failed')

/** The first thing that went wrong, over the output of all tasks. */
function FirstError({ w }: { w: Workload }) {
  const bad = failed.has(w.phase) || crashing(w) || w.attempts.some((a) => (a.exitCode ?? 0) !== 0)
  const { data } = useLive<FirstErrorResult>(bad ? workloadURL(w.project, w.name) + '/first-error' : null, () => {
    const r = rowNamed(w.project, w.name)
    return r && `${r.attempt} ${r.phase} ${r.tasks.failed}`
  })
  const e = data?.error
  const lost = w.attempts[w.attempts.length - 1]?.tasks.find((t) => t.state === 'lost' && t.node)?.node
  if (bad && !e && lost) return <WithoutNode w={w} node={lost} />
  if (!bad || !e) return null
  const where = [e.role && `${e.role} ${e.task}`, e.node && phrase(T.$onNode, { node: e.node }), e.devices?.length ? e.devices.join(', ') : '', e.exitCode !== undefined && e.exitCode !== null ? phrase(T.$exitCodeExitCode, { exitCode: e.exitCode }) : '', e.at ? exact(e.at) : ''].filter(Boolean)
  return (
    <Card class="wide first-error" tone="bad" title={T.$firstError} aside={<Link to={workloadPath(w.project, w.name, `logs&attempt=${e.attempt}&task=${e.task}`) + (e.line ? '&line=' + e.line : '')}>{T.$showInTheLog}</Link>}>
      <p class="error-title"><span class="kind">{e.kind}</span> {e.title}</p>
      <p class="muted">{where.join(' · ')}</p>
      {(e.excerpt ?? []).length > 0 && <pre class="code" tabIndex={0} aria-label={T.$excerptOfTheLog}><code>{e.excerpt.join('\n')}</code></pre>}
      {e.hint && <p class="hint">{sentence(e.hint)}</p>}
      {e.node && ofNodes.has(e.kind) && <WithoutNode w={w} node={e.node} />}
      {(data.also ?? []).length > 0 && <p class="muted">{phrase(T.$alsoMore, { more: (data.also ?? []).slice(0, 5).map((x) => `${x.role} ${x.task}: ${x.title}`).join(' · ') })}</p>}
    </Card>
  )
}

/** Sorts of errors that are a node's, or may be. */
const ofNodes = new Set(['CUDA error', 'NCCL error or timeout', 'crash by a signal'])

/** What failed on a node that may be at fault is restarted on others from here, where there are others. */
function WithoutNode({ w, node }: { w: Workload; node: string }) {
  if (!w.endedAt || refusal({ id: 'revise' }, w) || (cluster.value?.nodes.length ?? 0) < 2) return null
  const at = encodeURIComponent(w.project) + '/' + encodeURIComponent(w.name)
  return <p class="wide remedy"><Link class="button" to={`submit?revise=${at}&without=${encodeURIComponent(node)}`}><span>{phrase(T.$restartWithoutNode, { node })}</span></Link> <span class="muted">{phrase(T.$nodeMayBeAtFault, { node })}</span></p>
}

/** Twice an amount of memory; empty: it is none that can be doubled. */
export function twice(memory: unknown): string {
  const [, n, unit] = /^(\d+(?:\.\d+)?)\s*([KMGTP]i?)?$/.exec(String(memory ?? '')) ?? []
  return n ? String(Number(n) * 2) + (unit ?? '') : ''
}

/** What ended for want of memory is restarted with more of it from here. */
function MoreMemory({ w }: { w: Workload }) {
  const last = w.attempts[w.attempts.length - 1]
  const more = twice((w.spec as Document | undefined)?.resources?.memory)
  if (!w.endedAt || w.reason !== 'OutOfMemory' && last?.reason !== 'OutOfMemory' || !more || refusal({ id: 'revise' }, w)) return null
  const at = encodeURIComponent(w.project) + '/' + encodeURIComponent(w.name)
  return <p class="wide remedy"><Link class="button main" to={`submit?revise=${at}&with=${encodeURIComponent('--memory ' + more)}`}><span>{phrase(T.$restartWithMoreMemory, { more })}</span></Link> <span class="muted">{phrase(T.$itEndedForWantOfMemory, { memory: String((w.spec as Document).resources!.memory) })}</span></p>
}

function General({ w }: { w: Workload }) {
  const last = w.attempts[w.attempts.length - 1]
  // As muster describe tells it of each attempt: not what it waited between them, nor what was published after them.
  const stretches = w.attempts.filter((a) => a.runningAt).map((a) => (a.endedAt ? ms(a.endedAt) : now.value) - ms(a.runningAt))
  const ran = stretches.length ? stretches.reduce((n, x) => n + x, 0) : NaN
  const waits = w.attempts.filter((a) => a.queuedAt).map((a) => (ms(a.startedAt ?? a.endedAt ?? w.endedAt) || now.value) - ms(a.queuedAt))
  const waited = waits.length ? waits.reduce((n, x) => n + x, 0) : NaN
  return (
    <Facts of={[
      [T.$submitted2, <>{phrase(T.$ageAgoByUser, { age: <Age counted at={w.createdAt} />, user: w.user })}</>],
      [T.$waited2, Number.isNaN(waited) ? null : span(waited)],
      [T.$runTime, Number.isNaN(ran) ? null : span(ran)],
      [T.$gpuTime, w.gpuSeconds > 0 ? span(w.gpuSeconds * 1000) : null],
      [T.$exitCode, last?.exitCode],
      [T.$progress, w.progress ? <span class="progress">{!!w.progress.total && <Bar part={w.progress.step} whole={w.progress.total} label={phrase(T.$stepStep2, { step: w.progress.step })} tone="running" />}{phrase(T.$stepStepMore, { step: w.progress.step, more: w.progress.total ? phrase(T.$ofTotal, { total: w.progress.total }) : '' })}</span> : null],
      [T.$checkpoint, w.checkpoint ? <>{phrase(T.$codeAgeAgo, { code: <code class="clip">{w.checkpoint.path}</code>, age: <Age counted at={w.checkpoint.at} /> })}</> : null],
      [T.$address, w.replicas?.url ? <a href={w.replicas.url} rel="noreferrer">{w.replicas.url}</a> : null],
      [T.$replicas, w.replicas ? phrase(T.$readyOfTotalReady, { ready: w.replicas.ready, total: w.replicas.wanted }) : null],
      [T.$imageBuiltIn, w.image ? <code class="clip">{w.image}</code> : null],
      [T.$number, w.number],
      [T.$id, <code>{w.id}</code>],
    ]} />
  )
}

interface Document {
  image?: string; command?: string | string[]; workers?: number; maxDuration?: string; workdir?: string; labels?: Record<string, string>
  resources?: { gpu?: unknown; cpu?: unknown; memory?: unknown }; retry?: { limit?: number }
}

const brief = (v: unknown): string => (v === null || v === undefined ? '' : typeof v === 'object' ? Object.entries(v as object).map(([k, x]) => `${k} ${brief(x)}`).join(', ') : String(v))

function Asked({ w }: { w: Workload }) {
  const d = (w.spec ?? {}) as Document
  const command = Array.isArray(d.command) ? d.command.join(' ') : d.command
  return (
    <Facts of={[
      [T.$command, command ? <code class="wrapped command" tabIndex={0}>{command}</code> : null],
      [T.$image, d.image ? <code class="wrapped">{d.image}</code> : T.$noneRunsAsAProcessOfThe],
      [T.$gpus, brief(d.resources?.gpu) || T.$none2],
      [T.$cpu, brief(d.resources?.cpu)],
      [T.$memory, brief(d.resources?.memory)],
      [T.$workers, d.workers],
      [T.$priority, `${w.priority}${w.preemptible ? T.$preemptible : T.$notPreemptible}`],
      [T.$timeLimit, d.maxDuration],
      [T.$retries, d.retry?.limit],
      [T.$directory, d.workdir ? <code>{d.workdir}</code> : null],
      [T.$labels, Object.entries(d.labels ?? {}).map(([k, v]) => <span class="label" key={k}>{k}{v && '=' + v}</span>)],
    ]} />
  )
}
