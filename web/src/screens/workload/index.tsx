import './style.css'
import './figures.css'
import './metrics.css'
import type { Workload } from '../../api/types'
import { present } from '../../lib/clock'
import { count, localTimes, plural } from '../../lib/format'
import { dialect } from '../../lib/prefs'
import { useKeys } from '../../lib/keys'
import { go, setQuery, workloadPath } from '../../lib/router'
import { rowNamed, waits } from '../../live/store'
import type { Screen, ScreenProps } from '../../screen'
import { Button, Empty, Failure, Link, Loading, Page, Tabs } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { lazy } from '../../lib/lazy'
import { later } from '../../lib/later'
import { Menu, toast, type MenuItem } from '../../ui/overlay'
import { ours, stateOf, Status, why } from '../../ui/status'
import { acts, named, perform, pyNamed, python, refusal, said, seldom, type Act } from '../../work/acts'
import { workloadURL } from '../../api/client'
import { Events } from './events'
import { useWorkload } from './load'
import { Logs } from './logs'
import { Overview } from './overview'
import { Spec } from './spec'
import { Tasks } from './tasks'
import { Terminal } from './terminal'
import { follow, followed, noFollowing } from '../../live/app'
import { phrase, T } from '../../texts'

const Diff = lazy(() => import('../../later').then((m) => m.Diff))
const Metrics = lazy(() => import('../../later').then((m) => m.Metrics))

const tabs = [
  { id: 'overview', title: T.$overview },
  { id: 'tasks', title: T.$tasks },
  { id: 'logs', title: T.$logs },
  { id: 'metrics', title: T.$metrics },
  { id: 'events', title: T.$events },
  { id: 'spec', title: T.$spec },
  { id: 'diff', title: T.$compare },
  { id: 'terminal', title: T.$terminal },
]

function WorkloadPage({ params, query }: ScreenProps) {
  const { project = '', name = '' } = params
  const { data, error, again } = useWorkload(project, name)
  // What was deleted is known by its identity: its name may be another one's by now.
  const w = data?.phase === 'Deleted' ? { ...data, name: data.id } : data
  const tab = tabs.some((t) => t.id === query.get('tab')) ? query.get('tab')! : 'overview'
  useKeys(() => [
    ...tabs.map((t, i) => ({ keys: String(i + 1), does: t.title, run: () => setQuery({ tab: t.id === 'overview' ? null : t.id, at: null }) })),
    { keys: 'l', does: T.$logs, run: () => setQuery({ tab: 'logs' }) },
  ])
  if (error && (!w || error.status === 404)) {
    return (
      <Page title={name} sub={<Crumbs project={project} />}>
        {error.status === 404 ? <Empty icon="search" title={phrase(T.$noWorkloadNameInProject, { name, project })}><Link to="workloads">{T.$showWorkloads}</Link></Empty> : <Failure error={error} again={again} />}
      </Page>
    )
  }
  if (!w) return <Page title={name} sub={<Crumbs project={project} />}><Loading /></Page>
  const total = w.tasks.total
  return (
    <Page title={<>{data!.name}</>} fill={tab === 'logs' || tab === 'terminal'} class="workload" sub={<Head w={w} />} actions={<Actions w={w} />}>
      <Message w={w} />
      <Tabs label={T.$sections} chosen={tab} to={(id) => workloadPath(project, name, id === 'overview' ? '' : id)} tabs={tabs.map((t) => (t.id === 'tasks' && total > 1 ? { ...t, note: count(total) } : t))} />
      <div id="tabpanel" role="tabpanel" aria-labelledby={'tab-' + tab} class={'panel panel-' + tab}>
        {tab === 'overview' && <Overview w={w} />}
        {tab === 'tasks' && <Tasks w={w} query={query} />}
        {tab === 'logs' && <Logs w={w} query={query} />}
        {tab === 'metrics' && <Metrics w={w} query={query} />}
        {tab === 'events' && <Events w={w} />}
        {tab === 'spec' && <Spec w={w} />}
        {tab === 'diff' && <Diff w={w} query={query} />}
        {tab === 'terminal' && <Terminal key={w.attempt} w={w} query={query} />}
      </div>
    </Page>
  )
}

function Crumbs({ project }: { project: string }) {
  return <><Link to="workloads">{T.$workloads}</Link><span aria-hidden="true">/</span><Link to={'workloads?q=project:' + encodeURIComponent(project)}>{project}</Link></>
}

function Head({ w }: { w: Workload }) {
  const row = rowNamed(w.project, w.name)
  const state = stateOf(w)
  const size = w.gpus > 0 ? plural(row?.gpus ?? w.gpus, T.$nGPUs) + (row?.gpuType ? ' ' + row.gpuType : '') : T.$noGPUs
  return (
    <>
      <Status of={state} wait={waits.value.get(w.id)} />
      {dialect.value !== 'native' && <span class="said">{phrase(T.$moreInMusterState, { more: why(state) && <b>{why(state)}</b>, state: ours(state) })}</span>}
      <span class="crumbs"><Crumbs project={w.project} /></span>
      <span>{w.user}</span>
      <span>{w.kind}</span>
      <span>{size}{w.tasks.total > 1 && ', ' + plural(w.tasks.total, T.$nTasks)}</span>
      {w.attempt > 0 && <span>{phrase(T.$attemptAttemptLower, { attempt: w.attempt })}</span>}
    </>
  )
}

/** Why it is in its state, where that is not plain, and not told below. */
function Message({ w }: { w: Workload }) {
  if (!w.message || w.pending?.reasons.some((r) => r.token === w.reason)) return null
  return <p class="message">{w.reason && <code>{w.reason}</code>} {localTimes(w.message, present())}</p>
}

function Actions({ w }: { w: Workload }) {
  const { stop, restart } = acts
  const main: Act = refusal(stop, w) && !refusal(restart, w) ? restart : stop
  const at = encodeURIComponent(w.project) + '/' + encodeURIComponent(w.name)
  const item = (a: Act): MenuItem => ({ label: a.label, icon: a.icon, danger: a.danger ?? false, refused: refusal(a, w), run: () => void perform(a, [w]) })
  const service = w.kind === 'inference'
  return (
    <>
      <Button icon={main.icon} class="labelled" refused={refusal(main, w)} onClick={() => void perform(main, [w])}>{main.label}</Button>
      <CopyAs of={() => ({
        cli: `muster describe ${named(w)}\nmuster logs -f ${named(w)}\n${said(main, [w]).cli}`,
        python: python(`w = client.workload(${pyNamed(w)})`, 'print(w.phase, w.exit_code)', 'print("".join(w.logs(tail=20)))'),
        curl: curl(workloadURL(w.project, w.name)),
      })} />
      <Menu icon="more" label={T.$more} items={[
        { label: T.$copyAndEdit, icon: 'copy', run: () => go('submit?from=' + at) },
        service && !refusal({ id: 'update' }, w)
          ? { label: T.$editAndUpdate, icon: 'code', run: () => go('submit?update=' + at) }
          : { label: T.$editAndRestart, icon: 'code', refused: refusal({ id: 'revise' }, w), run: () => go('submit?revise=' + at) },
        { label: w.id in followed.value ? T.$dontNotify : T.$notifyMe, icon: 'info', refused: w.endedAt && !(w.id in followed.value) ? T.$itHasEnded : noFollowing(), run: () => void follow(w).then((r) => toast(phrase({ on: T.$youAreNotified, off: T.$youAreNotNotified, denied: T.$theBrowserRefuses }[r], { name: w.name }))) },
        { label: T.$shareDots, icon: 'link', run: () => later((l) => void l.shareForm(w)) },
        { label: T.$saveAsTemplate, icon: 'bookmark', run: () => later((l) => l.keepForm(w)) },
        { label: T.$priorityAndLimits, icon: 'gear', refused: refusal({ id: 'change' }, w), run: () => later((l) => l.changeForm([w])) },
        ...(service ? [{ label: T.$scale, icon: 'columns' as const, refused: refusal({ id: 'scale' }, w), run: () => later((l) => l.scaleForm(w)) }] : []),
        item(main === stop ? restart : stop), ...seldom.map(item), item(acts.delete),
      ]} />
    </>
  )
}

export default {
  path: 'workloads/:project/:name',
  title: (p) => p.name ?? '',
  view: WorkloadPage,
} satisfies Screen
