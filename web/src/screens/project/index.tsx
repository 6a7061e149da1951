import './style.css'
import { send } from '../../api/client'
import type { Project, Standing, StandingList, UsageList } from '../../api/types'
import { plural, shell } from '../../lib/format'
import { later } from '../../lib/later'
import { go } from '../../lib/router'
import { useLive } from '../../live/fetch'
import { cluster } from '../../live/store'
import type { Screen, ScreenProps } from '../../screen'
import { Age, Button, Card, Empty, Facts, Failure, Link, Loading, Page } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { ask, complain, Menu, toast } from '../../ui/overlay'
import { amount, lentBy, QuotaBar, QuotaKey, quotaWords, resourceNames } from '../../ui/quotabar'
import { hours } from '../../work/hours'
import { python } from '../../work/acts'
import { capacity, scaleOf } from '../../work/standing'
import { Closed } from '../projects/index'
import { WhatIf } from './whatif'

function ProjectPage({ params }: ScreenProps) {
  const name = params.name ?? ''
  const { data, error, again } = useLive<StandingList>('v1/quota')
  const p = cluster.value?.projects.find((x) => x.name === name)
  const crumbs = <span class="crumbs"><Link to="projects">Projects</Link>{above(name).map((a) => <><span aria-hidden="true">/</span><Link key={a} to={'projects/' + encodeURIComponent(a)}>{a}</Link></>)}</span>
  if (!cluster.value || (!data && !error)) return <Page title={name} sub={crumbs}><Loading /></Page>
  if (!p) return <Page title={name} sub={crumbs}><Empty icon="search" title={`There is no project ${name}`}><Link to="projects">To the projects</Link></Empty></Page>
  const all = data?.items ?? []
  const mine = all.filter((s) => s.project === name)
  const queued = mine.reduce((n, s) => n + s.queued, 0)
  const kind = p.department ? 'department' : 'project'
  return (
    <Page title={name} sub={<>{crumbs}<span>{kind}</span><Closed p={p} />{p.note && <span>{p.note}</span>}{queued > 0 && <Link to={'queue?project=' + encodeURIComponent(name)}>{plural(queued, 'workload')} {queued === 1 ? 'waits' : 'wait'}</Link>}</>}
      actions={<>
        <StopOrOpen p={p} />
        <Menu icon="more" label="More" items={[
          { label: 'Edit, or move', icon: 'gear', run: () => later((l) => l.editProject(p)) },
          { label: 'Delete', icon: 'trash', danger: true, refused: needed(p), run: () => void remove(p) },
        ]} />
        <CopyAs of={() => ({ cli: `muster ${kind} describe ${shell(name)}\nmuster quota -p ${shell(name)}`, python: python(`print(client.quota(project=${JSON.stringify(name)}))`), curl: curl(`v1/${kind}s/${encodeURIComponent(name)}`) })} />
      </>}>
      {error && !data && <Failure error={error} again={again} />}
      <div class="project">
        <Card class="wide" title="How it stands"><Standings mine={mine} all={all} /></Card>
        <WhatIf p={p} mine={mine} all={all} />
        <Card title="What it is"><Rules p={p} /></Card>
        <Spent p={p} />
      </div>
    </Page>
  )
}

/** What a project stands below, the top first. */
function above(name: string): string[] {
  const all = cluster.value?.projects ?? []
  const out: string[] = []
  for (let p = all.find((x) => x.name === name); p?.parent && out.length < 20; p = all.find((x) => x.name === p!.parent)) out.unshift(p.parent)
  return out
}

/** Why it cannot be deleted, as far as this page knows; the server knows the rest. */
function needed(p: Project): string | undefined {
  if (p.name === 'default') return 'Who names no project is in default'
  return cluster.value?.projects.some((x) => x.parent === p.name) ? 'Projects stand below it' : undefined
}

async function remove(p: Project): Promise<void> {
  if (!(await ask(`Delete ${p.name}?`, <p>It cannot be deleted while workloads are in it.</p>, 'Delete'))) return
  try {
    await send('DELETE', `v1/${p.department ? 'departments' : 'projects'}/${encodeURIComponent(p.name)}`)
    toast(`Deleted ${p.name}`)
    go('projects')
  } catch (e) {
    complain(e, 'Not deleted')
  }
}

function StopOrOpen({ p }: { p: Project }) {
  const url = `v1/${p.department ? 'departments' : 'projects'}/${encodeURIComponent(p.name)}`
  const act = async (verb: 'stop' | 'start'): Promise<void> => {
    if (verb === 'stop' && !(await ask(`Stop ${p.name}?`, <p>Nothing new of it starts, and what waits says so. What runs goes on.</p>, 'Stop'))) return
    try {
      await send('POST', `${url}:${verb}`, verb === 'stop' ? { mode: 'hold' } : undefined)
      toast(`${p.name} is ${verb === 'stop' ? 'stopped' : 'open'}`)
    } catch (e) {
      complain(e, verb === 'stop' ? 'Not stopped' : 'Not opened')
    }
  }
  if (!p.stopped) return <Button icon="stop" onClick={() => void act('stop')}>Stop</Button>
  return <Button icon="restart" refused={p.stoppedBy ? `${p.stoppedBy} above it is stopped: open that` : undefined} onClick={() => void act('start')}>Open</Button>
}

function Standings({ mine, all }: { mine: Standing[]; all: Standing[] }) {
  const rows = mine.flatMap((s) => (['gpu', 'cpu', 'memory'] as const).map((r) => ({ s, r }))).filter(({ s, r }) => s[r].used > 0 || s[r].guaranteed !== undefined || s[r].limit !== undefined || (r === 'gpu' && capacity(s.pool, 'gpu') > 0))
  if (rows.length === 0) return <p class="muted">It uses nothing, and nothing is said of what it may use.</p>
  const several = new Set(rows.map((x) => x.s.pool)).size > 1
  return (
    <div class="stand">
      {rows.map(({ s, r }) => {
        const lent = s.department ? 0 : lentBy(s, r, all)
        return (
          <div key={s.pool + r} class="stand-row">
            <span>{several && `${s.pool} `}{resourceNames[r]}</span>
            <QuotaBar of={s[r]} resource={r} scale={scaleOf(s.pool, r, all)} lent={lent} />
            <span>{amount(r, s[r].used)} {s[r].guaranteed === undefined ? 'used, no quota set' : `of ${amount(r, s[r].guaranteed)} guaranteed`}{s[r].limit !== undefined && `, at most ${amount(r, s[r].limit)}`}<span class="sr">: {quotaWords(r, s[r], lent)}</span></span>
          </div>
        )
      })}
      <QuotaKey />
    </div>
  )
}

const each = (m: Record<string, string> | undefined): string => Object.entries(m ?? {}).map(([k, v]) => `${k} ${v}`).join(', ')

function Rules({ p }: { p: Project }) {
  const checks = Array.isArray(p.checks) ? (p.checks as { name?: string; type?: string }[]).map((c) => c.name ?? c.type ?? '').join(', ') : ''
  return (
    <Facts of={[
      ['Below', p.parent ? <Link to={'projects/' + encodeURIComponent(p.parent)}>{p.parent}</Link> : 'nothing'],
      p.department ? ['Holds', (cluster.value?.projects ?? []).filter((x) => x.parent === p.name).map((x, i) => <>{i > 0 && ', '}<Link key={x.name} to={'projects/' + encodeURIComponent(x.name)}>{x.name}</Link></>)] : null,
      ['Workloads', p.department ? null : <Link to={'workloads?q=project:' + encodeURIComponent(p.name)}>Show them</Link>],
      ['Priority', `${p.priority ?? 100}: what is left over quota goes to the highest of its siblings first`],
      ['Pools', p.poolOrder?.join(', ')],
      ['At once', p.maxRunning ? `at most ${plural(p.maxRunning, 'workload')}` : null],
      ['Each user', [p.userLimit?.gpu !== undefined && `at most ${plural(p.userLimit.gpu, 'GPU')}`, p.userLimit?.maxRunning && `at most ${plural(p.userLimit.maxRunning, 'workload')}`].filter(Boolean).join(', ')],
      ['Preempted', p.preemptMinRuntime ? `after ${p.preemptMinRuntime} at the earliest` : null],
      ['Reclaimed', p.reclaimMinRuntime ? `after ${p.reclaimMinRuntime} at the earliest` : null],
      ['Time limit', each(p.timeLimit)],
      ['Idle limit', each(p.idleLimit)],
      ['Budget', p.budgetGpuHours ? `${p.budgetGpuHours} GPU-hours in every ${p.budgetPeriod}` : null],
      ['Checks', checks],
      ['Made', p.createdAt ? <><Age at={p.createdAt} /> ago</> : null],
    ]} />
  )
}

/** Who has used it of late. */
function Spent({ p }: { p: Project }) {
  const { data } = useLive<UsageList>(p.department ? null : `v1/usage?by=user&project=${encodeURIComponent(p.name)}`, 'beat', 30_000)
  if (p.department) return null
  return (
    <Card title="GPU-hours of 30 days" aside={<Link to={'usage?project=' + encodeURIComponent(p.name)}>More</Link>}>
      {!data ? <Loading rows={2} /> : data.items.length === 0 ? <p class="muted">Nothing was charged.</p> : (
        <table class="plain"><thead><tr><th scope="col">User</th><th scope="col" class="end">Workloads</th><th scope="col" class="end">GPU-hours</th></tr></thead>
          <tbody>{data.items.slice(0, 8).map((u) => <tr key={u.user}><td>{u.user}</td><td class="end">{u.workloads}</td><td class="end">{hours(u.gpuSeconds)}</td></tr>)}</tbody></table>
      )}
    </Card>
  )
}

export default {
  path: 'projects/:name',
  title: (p) => p.name ?? '',
  view: ProjectPage,
} satisfies Screen
