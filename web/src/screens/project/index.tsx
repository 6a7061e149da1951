import './style.css'
import { send } from '../../api/client'
import type { Project, Standing, StandingList, UsageList } from '../../api/types'
import { plural, shell } from '../../lib/format'
import { later } from '../../lib/later'
import { lazy } from '../../lib/lazy'
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
import { mayNot } from '../../live/may'
import { phrase, T } from '../../texts'

const WhatIf = lazy(() => import('../../later').then((m) => m.WhatIf))
const Budgets = lazy(() => import('../../later').then((m) => m.ProjectBudgets))

function ProjectPage({ params }: ScreenProps) {
  const name = params.name ?? ''
  const { data, error, again } = useLive<StandingList>('v1/quota')
  const p = cluster.value?.projects.find((x) => x.name === name)
  const crumbs = <span class="crumbs"><Link to="projects">{T.$projects}</Link>{above(name).map((a) => <><span aria-hidden="true">/</span><Link key={a} to={'projects/' + encodeURIComponent(a)}>{a}</Link></>)}</span>
  if (!cluster.value || (!data && !error)) return <Page title={name} sub={crumbs}><Loading /></Page>
  if (!p) return <Page title={name} sub={crumbs}><Empty icon="search" title={phrase(T.$noProjectName, { name })}><Link to="projects">{T.$showProjects}</Link></Empty></Page>
  const all = data?.items ?? []
  const mine = all.filter((s) => s.project === name)
  const queued = mine.reduce((n, s) => n + s.queued, 0)
  const kind = p.department ? T.$department : T.$projectLower
  return (
    <Page title={name} sub={<>{crumbs}<span>{kind}</span><Closed p={p} />{p.note && <span>{p.note}</span>}{queued > 0 && <Link to={'queue?project=' + encodeURIComponent(name)}>{phrase(T.$workloadsQueued, { workloads: plural(queued, T.$nWorkloads) })}</Link>}</>}
      actions={<>
        <StopOrOpen p={p} />
        <Menu icon="more" label={T.$more} items={[
          { label: T.$editOrMove, icon: 'gear', run: () => later((l) => l.editProject(p)) },
          { label: T.$delete, icon: 'trash', danger: true, refused: needed(p), run: () => void remove(p) },
        ]} />
        <CopyAs of={() => ({ cli: `muster ${kind} describe ${shell(name)}\nmuster quota -p ${shell(name)}`, python: python(`print(client.quota(project=${JSON.stringify(name)}))`), curl: curl(`v1/${kind}s/${encodeURIComponent(name)}`) })} />
      </>}>
      {error && !data && <Failure error={error} again={again} />}
      <div class="project">
        <Card class="wide" title={T.$quota}><Standings mine={mine} all={all} /></Card>
        <WhatIf p={p} mine={mine} all={all} />
        <Card title={T.$details}><Rules p={p} /></Card>
        <Budgets p={p} above={above(name)} />
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
  if (p.name === 'default') return T.$workloadsWithoutAProjectGo
  return cluster.value?.projects.some((x) => x.parent === p.name) ? T.$itContainsProjects : undefined
}

async function remove(p: Project): Promise<void> {
  if (!(await ask(phrase(T.$deleteName2, { name: p.name }), <p>{T.$aProjectCannotBeDeleted}</p>, T.$delete))) return
  try {
    await send('DELETE', `v1/${p.department ? 'departments' : 'projects'}/${encodeURIComponent(p.name)}`)
    toast(phrase(T.$deletedName, { name: p.name }))
    go('projects')
  } catch (e) {
    complain(e, T.$couldNotDelete)
  }
}

function StopOrOpen({ p }: { p: Project }) {
  const url = `v1/${p.department ? 'departments' : 'projects'}/${encodeURIComponent(p.name)}`
  const act = async (verb: 'stop' | 'start'): Promise<void> => {
    if (verb === 'stop' && !(await ask(phrase(T.$stopName, { name: p.name }), <p>{T.$noNewWorkloadsOfItStartAnd}</p>, T.$stop))) return
    try {
      await send('POST', `${url}:${verb}`, verb === 'stop' ? { mode: 'hold' } : undefined)
      toast(phrase(T.$badBad2, { bad: p.name, bad2: verb === 'stop' ? T.$stopped : T.$openLower }))
    } catch (e) {
      complain(e, verb === 'stop' ? T.$couldNotStop : T.$couldNotOpen)
    }
  }
  const no = mayNot('update', p.department ? 'departments' : 'projects', p.name)
  if (!p.stopped) return <Button icon="stop" refused={no} onClick={() => void act('stop')}>{T.$stop}</Button>
  return <Button icon="restart" refused={p.stoppedBy ? phrase(T.$stoppedByWhichContainsItIs, { stoppedBy: p.stoppedBy }) : no} onClick={() => void act('start')}>{T.$open2}</Button>
}

function Standings({ mine, all }: { mine: Standing[]; all: Standing[] }) {
  const rows = mine.flatMap((s) => (['gpu', 'cpu', 'memory'] as const).map((r) => ({ s, r }))).filter(({ s, r }) => s[r].used > 0 || s[r].guaranteed !== undefined || s[r].limit !== undefined || (r === 'gpu' && capacity(s.pool, 'gpu') > 0))
  if (rows.length === 0) return <p class="muted">{T.$noUsageAndNoQuota}</p>
  const several = new Set(rows.map((x) => x.s.pool)).size > 1
  return (
    <div class="stand">
      {rows.map(({ s, r }) => {
        const lent = s.department ? 0 : lentBy(s, r, all)
        return (
          <div key={s.pool + r} class="stand-row">
            <span>{several && `${s.pool} `}{resourceNames[r]}</span>
            <QuotaBar of={s[r]} resource={r} scale={scaleOf(s.pool, r, all)} lent={lent} />
            <span>{amount(r, s[r].used)} {s[r].guaranteed === undefined ? T.$usedNoQuotaSet : phrase(T.$ofGuaranteedGuaranteed, { guaranteed: amount(r, s[r].guaranteed) })}{s[r].limit !== undefined && phrase(T.$atMostLimit, { limit: amount(r, s[r].limit) })}<span class="sr">: {quotaWords(r, s[r], lent)}</span></span>
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
      [T.$parent, p.parent ? <Link to={'projects/' + encodeURIComponent(p.parent)}>{p.parent}</Link> : T.$noneLower],
      p.department ? [T.$contains, (cluster.value?.projects ?? []).filter((x) => x.parent === p.name).map((x, i) => <>{i > 0 && ', '}<Link key={x.name} to={'projects/' + encodeURIComponent(x.name)}>{x.name}</Link></>)] : null,
      [T.$workloads, p.department ? null : <Link to={'workloads?q=project:' + encodeURIComponent(p.name)}>{T.$show}</Link>],
      [T.$priority, phrase(T.$moreResourcesAboveThe, { more: p.priority ?? 100 })],
      [T.$pools, p.poolOrder?.join(', ')],
      [T.$concurrency, p.maxRunning ? phrase(T.$atMostWorkloads, { workloads: plural(p.maxRunning, T.$nWorkloads) }) : null],
      [T.$perUser, [p.userLimit?.gpu !== undefined && phrase(T.$atMostWorkloads, { workloads: plural(p.userLimit.gpu, T.$nGPUs) }), p.userLimit?.maxRunning && phrase(T.$atMostWorkloads, { workloads: plural(p.userLimit.maxRunning, T.$nWorkloads) })].filter(Boolean).join(', ')],
      [T.$preemption, p.preemptMinRuntime ? phrase(T.$notBeforePreemptMinRuntime, { preemptMinRuntime: p.preemptMinRuntime }) : null],
      [T.$reclaim, p.reclaimMinRuntime ? phrase(T.$notBeforePreemptMinRuntime, { preemptMinRuntime: p.reclaimMinRuntime }) : null],
      [T.$overQuotaRow, p.borrowingTimeLimit ? phrase(T.$onlyWhatEndsWithin, { time: p.borrowingTimeLimit }) : null],
      [T.$timeLimit, each(p.timeLimit)],
      [T.$idleLimit, each(p.idleLimit)],
      [T.$budget, p.budgetGpuHours ? phrase(T.$budgetGpuHoursGPUHoursPer, { budgetGpuHours: p.budgetGpuHours, budgetPeriod: p.budgetPeriod }) : null],
      [T.$checks, checks],
      [T.$created, p.createdAt ? <>{phrase(T.$ageAgo, { age: <Age counted at={p.createdAt} /> })}</> : null],
    ]} />
  )
}

/** Who has used it of late. */
function Spent({ p }: { p: Project }) {
  const { data } = useLive<UsageList>(p.department ? null : `v1/usage?by=user&project=${encodeURIComponent(p.name)}`, 'beat', 30_000)
  if (p.department) return null
  return (
    <Card title={T.$gpuHoursIn30Days} aside={<Link to={'usage?project=' + encodeURIComponent(p.name)}>{T.$more}</Link>}>
      {!data ? <Loading rows={2} /> : data.items.length === 0 ? <p class="muted">{T.$noUsage}</p> : (
        <table class="plain"><thead><tr><th scope="col">{T.$user}</th><th scope="col" class="end">{T.$workloads}</th><th scope="col" class="end">{T.$gpuHours}</th></tr></thead>
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
