import './style.css'
import type { Workload } from '../../api/types'
import { gpus, plural } from '../../lib/format'
import { dialect } from '../../lib/prefs'
import { useKeys } from '../../lib/keys'
import { go, setQuery, workloadPath } from '../../lib/router'
import { rowNamed, waits } from '../../live/store'
import type { Screen, ScreenProps } from '../../screen'
import { Button, Empty, Failure, Link, Loading, Page, Tabs } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { later } from '../../lib/later'
import { Menu, type MenuItem } from '../../ui/overlay'
import { ours, stateOf, Status, why } from '../../ui/status'
import { acts, named, perform, pyNamed, python, refusal, said, seldom, type Act } from '../../work/acts'
import { workloadURL } from '../../api/client'
import { Diff } from './diff'
import { Events } from './events'
import { useWorkload } from './load'
import { Logs } from './logs'
import { Metrics } from './metrics'
import { Overview } from './overview'
import { Spec } from './spec'
import { Tasks } from './tasks'
import { Terminal } from './terminal'

const tabs = [
  { id: 'overview', title: 'Overview' },
  { id: 'tasks', title: 'Tasks' },
  { id: 'logs', title: 'Logs' },
  { id: 'metrics', title: 'Metrics' },
  { id: 'events', title: 'Events' },
  { id: 'spec', title: 'Spec' },
  { id: 'diff', title: 'Compare' },
  { id: 'terminal', title: 'Terminal' },
]

function WorkloadPage({ params, query }: ScreenProps) {
  const { project = '', name = '' } = params
  const { data, error, again } = useWorkload(project, name)
  // What was deleted is known by its identity: its name may be another one's by now.
  const w = data?.phase === 'Deleted' ? { ...data, name: data.id } : data
  const tab = tabs.some((t) => t.id === query.get('tab')) ? query.get('tab')! : 'overview'
  useKeys(() => [
    ...tabs.map((t, i) => ({ keys: String(i + 1), does: t.title, run: () => setQuery({ tab: t.id === 'overview' ? null : t.id, at: null }) })),
    { keys: 'l', does: 'Logs', run: () => setQuery({ tab: 'logs' }) },
  ])
  if (error && (!w || error.status === 404)) {
    return (
      <Page title={name} sub={<Crumbs project={project} />}>
        {error.status === 404 ? <Empty icon="search" title={`There is no workload ${name} in ${project}`}><Link to="workloads">To the workloads</Link></Empty> : <Failure error={error} again={again} />}
      </Page>
    )
  }
  if (!w) return <Page title={name} sub={<Crumbs project={project} />}><Loading /></Page>
  const total = w.tasks.total
  return (
    <Page title={<>{data!.name}</>} fill={tab === 'logs' || tab === 'terminal'} class="workload" sub={<Head w={w} />} actions={<Actions w={w} />}>
      <Message w={w} />
      <Tabs label="Parts" chosen={tab} to={(id) => workloadPath(project, name, id === 'overview' ? '' : id)} tabs={tabs.map((t) => (t.id === 'tasks' && total > 1 ? { ...t, note: total } : t))} />
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
  return <><Link to="workloads">Workloads</Link><span aria-hidden="true">/</span><Link to={'workloads?q=project:' + encodeURIComponent(project)}>{project}</Link></>
}

function Head({ w }: { w: Workload }) {
  const row = rowNamed(w.project, w.name)
  const state = stateOf(w)
  const size = w.gpus > 0 ? `${gpus(row?.gpus ?? w.gpus)} GPU${(row?.gpus ?? w.gpus) === 1 ? '' : 's'}${row?.gpuType ? ' ' + row.gpuType : ''}` : 'no GPUs'
  return (
    <>
      <Status of={state} wait={waits.value.get(w.id)} />
      {dialect.value !== 'native' && <span class="said">{why(state) && <b>{why(state)}</b>} in Muster: {ours(state)}</span>}
      <span class="crumbs"><Crumbs project={w.project} /></span>
      <span>{w.user}</span>
      <span>{w.kind}</span>
      <span>{size}{w.tasks.total > 1 && ', ' + plural(w.tasks.total, 'task')}</span>
      {w.attempt > 0 && <span>attempt {w.attempt}</span>}
    </>
  )
}

/** Why it is in its state, where that is not plain. */
function Message({ w }: { w: Workload }) {
  if (!w.message || w.phase === 'Queued') return null
  return <p class="message">{w.reason && <code>{w.reason}</code>} {w.message}</p>
}

function Actions({ w }: { w: Workload }) {
  const { stop, restart } = acts
  const main: Act = refusal(stop, w) && !refusal(restart, w) ? restart : stop
  const at = encodeURIComponent(w.project) + '/' + encodeURIComponent(w.name)
  const item = (a: Act): MenuItem => ({ label: a.label, icon: a.icon, danger: a.danger ?? false, refused: refusal(a, w), run: () => void perform(a, [w]) })
  const service = w.kind === 'inference'
  return (
    <>
      <Button icon={main.icon} refused={refusal(main, w)} onClick={() => void perform(main, [w])}>{main.label}</Button>
      <CopyAs of={() => ({
        cli: `muster describe ${named(w)}\nmuster logs -f ${named(w)}\n${said(main, [w]).cli}`,
        python: python(`w = client.workload(${pyNamed(w)})`, 'print(w.phase, w.exit_code)', 'print("".join(w.logs(tail=20)))'),
        curl: curl(workloadURL(w.project, w.name)),
      })} />
      <Menu icon="more" label="More" items={[
        { label: 'Copy and edit', icon: 'copy', run: () => go('submit?from=' + at) },
        service && !refusal({ id: 'update' }, w)
          ? { label: 'Edit while it serves', icon: 'code', run: () => go('submit?update=' + at) }
          : { label: 'Edit and run again', icon: 'code', refused: refusal({ id: 'revise' }, w), run: () => go('submit?revise=' + at) },
        { label: 'Keep as a template', icon: 'bookmark', run: () => later((l) => l.keepForm(w)) },
        { label: 'Priority and limits', icon: 'gear', refused: refusal({ id: 'change' }, w), run: () => later((l) => l.changeForm([w])) },
        ...(service ? [{ label: 'Scale', icon: 'columns' as const, refused: refusal({ id: 'scale' }, w), run: () => later((l) => l.scaleForm(w)) }] : []),
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
