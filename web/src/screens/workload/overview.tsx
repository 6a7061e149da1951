import type { FirstErrorResult, Why, Workload } from '../../api/types'
import { workloadURL } from '../../api/client'
import { now } from '../../lib/clock'
import { exact, ms, span } from '../../lib/format'
import { workloadPath } from '../../lib/router'
import { useLive } from '../../live/fetch'
import { rowNamed, waits } from '../../live/store'
import { Age, Bar, Card, Facts, Link, sentence } from '../../ui/basics'
import { Gantt } from './gantt'
import { Course } from './course'
import { Pending } from './pending'

export function Overview({ w }: { w: Workload }) {
  const { data: why } = useLive<Why>(w.phase === 'Queued' ? workloadURL(w.project, w.name) + '/why' : null, () => {
    const x = waits.value.get(w.id)
    return x && `${x.position} ${x.token}`
  }, 5000)
  return (
    <div class="overview">
      {w.pending && w.pending.reasons.length > 0 && <Pending w={w} why={why} />}
      <FirstError w={w} />
      <Card title="Its way through life" class="wide"><Course w={w} /></Card>
      <Card title="Attempts" class="wide"><Gantt w={w} why={why} /></Card>
      <Card title="Facts"><General w={w} /></Card>
      <Card title="Asked for"><Asked w={w} /></Card>
    </div>
  )
}

const failed = new Set(['Failed', 'Lost', 'TimedOut', 'Backoff'])

/** The first thing that went wrong, over the output of all tasks. */
function FirstError({ w }: { w: Workload }) {
  const bad = failed.has(w.phase) || w.attempts.some((a) => (a.exitCode ?? 0) !== 0)
  const { data } = useLive<FirstErrorResult>(bad ? workloadURL(w.project, w.name) + '/first-error' : null, () => {
    const r = rowNamed(w.project, w.name)
    return r && `${r.attempt} ${r.phase}`
  })
  const e = data?.error
  if (!bad || !e) return null
  const where = [e.role && `${e.role} ${e.task}`, e.node && 'on ' + e.node, e.devices?.length ? e.devices.join(', ') : '', e.exitCode !== undefined && e.exitCode !== null ? 'exit code ' + e.exitCode : '', e.at ? exact(e.at) : ''].filter(Boolean)
  return (
    <Card class="wide first-error" tone="bad" title="First error" aside={<Link to={workloadPath(w.project, w.name, `logs&attempt=${e.attempt}&task=${e.task}`) + (e.line ? '&line=' + e.line : '')}>Show in the log</Link>}>
      <p class="error-title"><span class="kind">{e.kind}</span> {e.title}</p>
      <p class="muted">{where.join(' · ')}</p>
      {(e.excerpt ?? []).length > 0 && <pre class="code" tabIndex={0} aria-label="Excerpt of the log"><code>{e.excerpt.join('\n')}</code></pre>}
      {e.hint && <p class="hint">{sentence(e.hint)}</p>}
      {(data.also ?? []).length > 0 && <p class="muted">Also: {(data.also ?? []).slice(0, 5).map((x) => `${x.role} ${x.task}: ${x.title}`).join(' · ')}</p>}
    </Card>
  )
}

function General({ w }: { w: Workload }) {
  const last = w.attempts[w.attempts.length - 1]
  // As muster describe tells it of each attempt: not what it waited between them, nor what was published after them.
  const stretches = w.attempts.filter((a) => a.runningAt).map((a) => (a.endedAt ? ms(a.endedAt) : now.value) - ms(a.runningAt))
  const ran = stretches.length ? stretches.reduce((n, x) => n + x, 0) : NaN
  const waited = w.startedAt ? ms(w.startedAt) - ms(w.createdAt) : NaN
  return (
    <Facts of={[
      ['Submitted', <><Age at={w.createdAt} /> ago by {w.user}</>],
      ['Waited', Number.isNaN(waited) ? null : span(waited)],
      ['Ran', Number.isNaN(ran) ? null : span(ran)],
      ['GPU time', w.gpuSeconds > 0 ? span(w.gpuSeconds * 1000) : null],
      ['Exit code', last?.exitCode],
      ['Progress', w.progress ? <span class="progress"><Bar part={w.progress.step} whole={w.progress.total ?? 0} label={`Step ${w.progress.step}`} tone="running" />step {w.progress.step}{w.progress.total ? ` of ${w.progress.total}` : ''}</span> : null],
      ...Object.entries(w.progress?.metrics ?? {}).slice(0, 6).map(([k, v]): [string, string] => [k, String(Math.round(v * 1e4) / 1e4)]),
      ['Checkpoint', w.checkpoint ? <><code class="clip">{w.checkpoint.path}</code> <Age at={w.checkpoint.at} /> ago</> : null],
      ['Address', w.replicas?.url ? <a href={w.replicas.url} rel="noreferrer">{w.replicas.url}</a> : null],
      ['Replicas', w.replicas ? `${w.replicas.ready} ready of ${w.replicas.wanted}` : null],
      ['Image built', w.image ? <code class="clip">{w.image}</code> : null],
      ['Number', w.number],
      ['Identity', <code>{w.id}</code>],
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
      ['Command', command ? <code class="wrapped command" tabIndex={0}>{command}</code> : null],
      ['Image', d.image ? <code class="wrapped">{d.image}</code> : 'none: a process of the node'],
      ['GPUs', brief(d.resources?.gpu) || 'none'],
      ['CPU', brief(d.resources?.cpu)],
      ['Memory', brief(d.resources?.memory)],
      ['Workers', d.workers],
      ['Priority', `${w.priority}${w.preemptible ? ', preemptible' : ', not preemptible'}`],
      ['Time limit', d.maxDuration],
      ['Retries', d.retry?.limit],
      ['Folder', d.workdir ? <code>{d.workdir}</code> : null],
      ['Labels', Object.entries(d.labels ?? {}).map(([k, v]) => <span class="label" key={k}>{k}{v && '=' + v}</span>)],
    ]} />
  )
}
