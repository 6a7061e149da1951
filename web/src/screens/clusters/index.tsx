import './style.css'
import type { ClusterInfo, ClusterList } from '../../api/types'
import { Stack, milli } from '../../fleet/parts'
import { useLive } from '../../live/fetch'
import { cluster } from '../../live/store'
import type { Screen } from '../../screen'
import { Age, Empty, Facts, Failure, Link, Loading, Page } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { Icon } from '../../ui/icons'
import { python } from '../../work/acts'

const kinds: Record<string, string> = { local: 'This machine', kubernetes: 'Kubernetes' }

function Clusters() {
  const { data, error, again } = useLive<ClusterList>('v1/clusters', () => cluster.value)
  return (
    <Page title="Clusters" sub={data && <span>{data.items.filter((x) => x.reachable).length} of {data.items.length} answer</span>}
      actions={<CopyAs of={() => ({ cli: 'muster cluster list', python: python('for c in client.clusters():', '    print(c["name"], c["reachable"])'), curl: curl('v1/clusters') })} />}>
      {error && !data ? <Failure error={error} again={again} /> : !data ? <Loading what="Loading clusters" rows={4} />
        : data.items.length === 0 ? <Empty icon="screen" title="There are no clusters" />
          : <ul class="clusters">{data.items.map((x) => <li key={x.name}><One of={x} /></li>)}</ul>}
    </Page>
  )
}

function One({ of: x }: { of: ClusterInfo }) {
  const held = (cluster.value?.nodes ?? []).filter((n) => n.backend === x.name).reduce((sum, n) => sum + n.gpu.used, 0)
  return (
    <section class="card" data-tone={x.reachable ? undefined : 'bad'} aria-label={x.name}>
      <header class="card-head">
        <h2><Link to={'nodes?q=cluster:' + encodeURIComponent(x.name)}>{x.name}</Link></h2>
        <span class="status plain" data-tone={x.reachable ? 'running' : 'failed'}><Icon name={x.reachable ? 'dot' : 'warning'} size={14} /><span>{x.reachable ? 'Answers' : 'Silent'}</span></span>
      </header>
      {!x.reachable && <p class="cluster-why"><b>Silent for <Age at={x.since} />.</b> {x.message} <span class="muted">Nothing new is placed there, and what runs goes on.</span></p>}
      <div class="cluster-gpus">
        <Stack parts={[{ name: 'held', amount: held, look: 'busy' }, { name: 'shut', amount: Math.max(0, x.gpuMilli.total - x.gpuMilli.free - held), look: 'shut' }]} whole={x.gpuMilli.total} label={`${milli(held)} held, ${milli(x.gpuMilli.free)} of ${milli(x.gpuMilli.total)} GPUs free`} />
        <span><b>{milli(x.gpuMilli.free)}</b> of {milli(x.gpuMilli.total)} GPUs free</span>
      </div>
      <Facts of={[
        ['Kind', [kinds[x.kind] ?? x.kind, x.version].filter(Boolean).join(', ')],
        ['Nodes', <Link to={'nodes?q=cluster:' + encodeURIComponent(x.name)}>{x.nodes.ready} of {x.nodes.total} ready</Link>],
        ['Workloads', `${x.workloads}, with ${x.tasks} tasks`],
        ['Server', x.server ? <code>{x.server}</code> : null],
      ]} />
    </section>
  )
}

export default {
  path: 'clusters',
  title: () => 'Clusters',
  view: Clusters,
  nav: { label: 'Clusters', icon: 'screen', order: 54, key: 'c', group: 'Machines' },
} satisfies Screen
