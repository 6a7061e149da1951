import { useState } from 'preact/hooks'
import { get, send } from '../../api/client'
import type { Draft, Project, ProjectRules } from '../../api/types'
import { request } from '../../api/client'
import { yaml } from '../../lib/yaml'
import { shell } from '../../lib/format'
import { cluster } from '../../live/store'
import { ApiError } from '../../api/client'
import { Button, Empty, Loading } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { complain, toast } from '../../ui/overlay'
import { python } from '../../work/acts'
import { Ask, pairs, type Values } from '../../ui/ask'
import { mayNot } from '../../live/may'
import { phrase, T } from '../../texts'

interface NamedCheck { name: string; type: string; when?: string }

const said = (m: Record<string, string> | undefined): string => Object.entries(m ?? {}).map(([k, v]) => `${k} ${v}`).join(', ')
const checksOf = (p: ProjectRules): NamedCheck[] => (Array.isArray(p.checks) ? (p.checks as NamedCheck[]) : [])
const where = (p: Project): string => (p.department ? 'v1/departments/' : 'v1/projects/') + encodeURIComponent(p.name)

/** What projects demand of their workloads. */
export function Rules() {
  const [editing, setEditing] = useState<Project | null>(null)
  const all = cluster.value?.projects
  if (!all) return <Loading what={T.$loadingProjects} rows={3} />
  const edit = (p: Project): void => {
    get<Project>(where(p)).then(setEditing, (e) => complain(e))
  }
  return (
    <>
      <div class="toolbar">
        <span class="muted">{T.$checksAndLimitsThatApplyTo}</span>
        <div class="toolbar-end"><CopyAs of={() => ({ cli: `muster project describe ${shell(all[0]?.name ?? 'default')}`, python: python('client.request("GET", "/v1/projects")'), curl: curl('v1/projects') })} /></div>
      </div>
      {all.length === 0 ? <Empty icon="people" title={T.$noProjects} /> : (
        <div class="card scroll-x" tabIndex={0} role="region" aria-label={T.$projectRules}>
          <table class="plain rows stacked">
            <thead><tr><th scope="col">{T.$project}</th><th scope="col">{T.$checks}</th><th scope="col">{T.$timeLimit}</th><th scope="col">{T.$idleLimit}</th><th scope="col">{T.$budget}</th><th scope="col">{T.$open}</th><th scope="col"><span class="sr">{T.$actions}</span></th></tr></thead>
            <tbody>{all.map((p) => (
              <tr key={p.name}>
                <th scope="row">{p.name}<div class="muted">{p.department ? 'department' : p.parent ? phrase(T.$inTime, { time: p.parent }) : ''}</div></th>
                <td data-head={T.$checks}>{checksOf(p).map((c) => <span key={c.name} class="label" title={c.type}>{c.name}</span>)}{checksOf(p).length === 0 && <span class="none">–</span>}</td>
                <td data-head={T.$timeLimit}><Limits own={p.timeLimit} all={p.effective?.timeLimit} /></td>
                <td data-head={T.$idleLimit}><Limits own={p.idleLimit} all={p.effective?.idleLimit} /></td>
                <td data-head={T.$budget}>{p.budgetGpuHours ? phrase(T.$budgetGpuHoursGPUHours, { budgetGpuHours: p.budgetGpuHours, budgetPeriod: p.budgetPeriod || T.$total }) : <span class="none">–</span>}</td>
                <td data-head={T.$open}>{p.stopped ? <span class="status plain" data-tone="blocked" title={p.note}>{phrase(T.$stoppedMore, { more: p.stoppedBy ? phrase(T.$byStoppedBy, { stoppedBy: p.stoppedBy }) : '' })}</span> : T.$yes}</td>
                <td class="row-acts"><Button kind="quiet" refused={mayNot('update', p.department ? 'departments' : 'projects', p.name)} aria-label={phrase(T.$editTheRulesOfName, { name: p.name })} onClick={() => edit(p)}>{T.$edit}</Button></td>
              </tr>
            ))}</tbody>
          </table>
        </div>
      )}
      {editing && <Edit p={editing} close={() => setEditing(null)} />}
    </>
  )
}

/** A project's limits, and those of what stands above it where they are tighter. */
function Limits({ own, all }: { own?: Record<string, string>; all?: Record<string, string> }) {
  const above = Object.fromEntries(Object.entries(all ?? {}).filter(([kind, limit]) => own?.[kind] !== limit))
  if (!said(own) && !said(above)) return <span class="none">–</span>
  return <>{said(own)}{said(above) && <div class="muted">{phrase(T.$limitsFromAbove, { limits: said(above) })}</div>}</>
}

const lines = (m: Record<string, string> | undefined): string => Object.entries(m ?? {}).map(([k, v]) => `${k}=${v}`).join('\n')

function Edit({ p, close }: { p: Project; close: () => void }) {
  const checks = checksOf(p)
  return (
    <Ask title={phrase(T.$rulesOfName, { name: p.name })} yes={T.$save} close={close} text={T.$theyApplyToWorkloads}
      first={{ timeLimit: lines(p.timeLimit), idleLimit: lines(p.idleLimit), budgetGpuHours: String(p.budgetGpuHours ?? ''), budgetPeriod: p.budgetPeriod ?? '', checks: checks.length ? yaml(checks) : '' }}
      inputs={() => [
        { name: 'budgetGpuHours', note: T.$gpuHoursThatMayBeUsed, placeholder: T.$noLimit },
        { name: 'budgetPeriod', note: T.$inEachPeriodOfThisLength, placeholder: '30d' },
        { name: 'timeLimit', kind: 'long', note: T.$endsWorkloadsAfterThisRun, placeholder: 'workspace=12h\ntraining=7d' },
        { name: 'idleLimit', kind: 'long', note: T.$endsWorkloadsAfterAllTheir, placeholder: 'workspace=1h' },
        { name: 'checks', kind: 'long', note: T.$asYAMLAsInTheChecksOfA, placeholder: '- name: legal\n  type: approval\n  users: [ada]' },
      ]}
      act={async (v) => {
        await send('PUT', where(p) + '/rules', await rulesOf(v))
        toast(phrase(T.$savedTheRulesOfName, { name: p.name }))
      }} />
  )
}

/** The server reads the YAML of checks, as part of a document that is submitted nowhere. */
async function rulesOf(v: Values): Promise<ProjectRules> {
  const out: ProjectRules = { timeLimit: pairs(v.timeLimit), idleLimit: pairs(v.idleLimit) }
  const hours = v.budgetGpuHours?.trim()
  if (hours) {
    if (!(Number(hours) > 0)) throw wrong('budgetGpuHours', phrase(T.$xIsNotANumberAbove0, { x: hours }))
    out.budgetGpuHours = Number(hours)
    if (v.budgetPeriod?.trim()) out.budgetPeriod = v.budgetPeriod.trim()
  }
  if (v.checks?.trim()) {
    const text = 'checks:\n' + v.checks.replace(/\s+$/, '').replace(/^/gm, '  ')
    const d = (await (await request('v1/drafts', { method: 'POST', body: text, headers: { 'Content-Type': 'application/yaml' } })).json()) as Draft
    const said = (d.document as { checks?: unknown } | undefined)?.checks
    if (!Array.isArray(said)) throw wrong('checks', T.$notAYAMLList, T.$startEachCheckWithADash)
    out.checks = said
  } else out.checks = []
  return out
}

const wrong = (path: string, problem: string, hint = ''): ApiError => new ApiError(422, 'invalid', `${path}: ${problem}`, hint, [{ path, problem, ...(hint ? { hint } : {}) }])
