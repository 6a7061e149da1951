import type { ClusterInfo, ClusterList } from '../../api/types'
import { Stack, milli } from '../../fleet/parts'
import { useLive } from '../../live/fetch'
import { cluster } from '../../live/store'
import { Age, Empty, Facts, Failure, Link, Loading, Page } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { Icon } from '../../ui/icons'
import { python } from '../../work/acts'
import { phrase, T } from '../../texts'

const kinds: Record<string, string> = { local: T.$thisMachine, kubernetes: 'Kubernetes' }

export function Clusters() {
  const { data, error, again } = useLive<ClusterList>('v1/clusters', () => cluster.value)
  return (
    <Page title={T.$clusters} sub={data && <span>{phrase(T.$reachableOfItemsReachable, { reachable: data.items.filter((x) => x.reachable).length, items: data.items.length })}</span>}
      actions={<CopyAs of={() => ({ cli: 'muster cluster list', python: python('for c in client.clusters():', '    print(c["name"], c["reachable"])'), curl: curl('v1/clusters') })} />}>
      {error && !data ? <Failure error={error} again={again} /> : !data ? <Loading what={T.$loadingClusters} rows={4} />
        : data.items.length === 0 ? <Empty icon="screen" title={T.$noClusters} />
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
        <span class="status plain" data-tone={x.reachable ? 'running' : 'failed'}><Icon name={x.reachable ? 'dot' : 'warning'} size={14} /><span>{x.reachable ? T.$reachable : T.$unreachable}</span></span>
      </header>
      {!x.reachable && <p class="cluster-why"><b>{phrase(T.$unreachableForAge, { age: <Age counted at={x.since} /> })}</b> {x.message} <span class="muted">{T.$noNewWorkloadsArePlaced}</span></p>}
      <div class="cluster-gpus">
        <Stack parts={[{ name: 'held', amount: held, look: 'busy' }, { name: 'shut', amount: Math.max(0, x.gpuMilli.total - x.gpuMilli.free - held), look: 'shut' }]} whole={x.gpuMilli.total} label={phrase(T.$heldAllocatedFreeOfTotal, { held: milli(held), free: milli(x.gpuMilli.free), total: milli(x.gpuMilli.total) })} />
        <span>{phrase(T.$freeOfTotalGPUsFree, { free: <b>{milli(x.gpuMilli.free)}</b>, total: milli(x.gpuMilli.total) })}</span>
      </div>
      <Facts of={[
        [T.$kind, [kinds[x.kind] ?? x.kind, x.version].filter(Boolean).join(', ')],
        [T.$nodes, <Link to={'nodes?q=cluster:' + encodeURIComponent(x.name)}>{phrase(T.$readyOfTotalReady, { ready: x.nodes.ready, total: x.nodes.total })}</Link>],
        [T.$workloads, phrase(T.$workloadsWithTasksTasks, { workloads: x.workloads, tasks: x.tasks })],
        [T.$server, x.server ? <code>{x.server}</code> : null],
      ]} />
    </section>
  )
}
