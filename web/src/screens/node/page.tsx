import { useState } from 'preact/hooks'
import type { Metrics, Node } from '../../api/types'
import { change } from '../../fleet/acts'
import { cells, cellWords, freeOf, kindsOf, short, stateOf, troubles, useHoldings, type Cell, brokenOf } from '../../fleet/nodes'
import { NodeStatus, Used, milli } from '../../fleet/parts'
import { bytes, gpus, plural, shell } from '../../lib/format'
import { later } from '../../lib/later'
import { workloadPath } from '../../lib/router'
import { useLive } from '../../live/fetch'
import { cluster, loadError } from '../../live/store'
import type { ScreenProps } from '../../screen'
import { Button, Card, Empty, Facts, Failure, Link, Loading, Page } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { ask } from '../../ui/overlay'
import { Icon } from '../../ui/icons'
import { python } from '../../work/acts'
import { freeWords } from '../map/words'
import { Draining, DrainDialog, Residents, usePreview } from './drain'
import { Spark } from '../../ui/spark'
import { Courses, stretch } from './courses'
import { Links } from './links'
import { mayNot } from '../../live/may'
import { phrase, T } from '../../texts'

export function NodePage({ params }: ScreenProps) {
  const name = params.name ?? ''
  const c = cluster.value
  const n = c?.nodes.find((x) => x.name === name)
  if (!c) return <Page title={name}>{loadError.value ? <Failure error={loadError.value} /> : <Loading />}</Page>
  if (!n) {
    return (
      <Page title={name} sub={<Link to="nodes">{T.$nodes}</Link>}>
        <Empty icon="search" title={phrase(T.$noNodeName, { name })}><p>{T.$itMayHaveBeenRemovedOrHas}</p><Link to="nodes">{T.$showNodes}</Link></Empty>
      </Page>
    )
  }
  return <Known n={n} />
}

function Known({ n }: { n: Node }) {
  const [draining, setDraining] = useState(false)
  const { data: h } = useHoldings()
  const preview = usePreview(n.name)
  const measured = useLive<Metrics>(`v1/nodes/${encodeURIComponent(n.name)}/metrics?since=${stretch.value}`, 'beat', 10_000)
  const all = cells([n], h)
  const t = (n.cutOff || !n.ready || brokenOf(n).length > 0 ? troubles(n) : [])
  return (
    <Page title={n.name} class="node-page" sub={<><NodeStatus of={n} /><span class="crumbs"><Link to="nodes">{T.$nodes}</Link></span><span>{phrase(T.$poolPool, { pool: <Link to={'nodes?q=pool:' + encodeURIComponent(n.pool)}>{n.pool}</Link> })}</span><span>{kindsOf(n) || T.$noGPUs}</span>{n.devices.length > 0 && <span>{phrase(T.$freeOfFree, { freeOf: gpus(freeOf(n)) })}</span>}</>}
      actions={<Actions n={n} drain={() => setDraining(true)} />}>
      {t.length > 0 && <p class="node-alarm" role="status"><Icon name="warning" />{t.join('; ')}</p>}
      {n.cordoned && <Draining n={n} preview={preview.data} />}
      <div class="node-grid">
        <Devices cells={all} m={measured.data} />
        <Links n={n} />
        <Residents n={n} preview={preview.data} error={preview.error} all={all} />
        <Courses n={n} of={measured} />
        <General n={n} />
      </div>
      {draining && <DrainDialog n={n} close={() => setDraining(false)} />}
    </Page>
  )
}

function Actions({ n, drain }: { n: Node; drain: () => void }) {
  const state = stateOf(n)
  const no = mayNot('update', 'nodes', '-')
  return (
    <>
      {n.cordoned
        ? <Button icon="restart" class="labelled" refused={no} onClick={() => void change(n.name, 'uncordon')} title={T.$acceptWorkloadsAgain}>{T.$uncordon}</Button>
        : <Button icon="noentry" class="labelled" refused={no} onClick={async () => {
          if (await ask(phrase(T.$cordonName, { name: n.name }), <p>{T.$noNewWorkloadsStartOnIt}</p>, T.$cordon, false)) void change(n.name, 'cordon')
        }}>{T.$cordon}</Button>}
      <Button icon="drain" class="labelled" kind="danger" refused={n.draining ? (state === 'Drained' ? T.$theNodeIsAlreadyEmpty : T.$theNodeIsBeingDrained) : no} onClick={drain} aria-haspopup="dialog">{T.$drain}</Button>
      <CopyAs of={() => ({
        cli: `muster node describe ${shell(n.name)}\nmuster metrics --node ${shell(n.name)}\nmuster node drain ${shell(n.name)} --dry-run`,
        python: python(`n = next(n for n in client.cluster()["nodes"] if n["name"] == ${JSON.stringify(n.name)})`, 'print(n["gpu"], n["tasks"])'),
        curl: curl('v1/nodes/' + encodeURIComponent(n.name)),
      })} />
    </>
  )
}

const last = (m: Metrics | null, device: string, metric: string): number | undefined => m?.series.find((s) => s.device === device && s.metric === metric)?.last ?? undefined

/** Its GPUs, one line each. */
function Devices({ cells: all, m }: { cells: Cell[]; m: Metrics | null }) {
  if (all.length === 0) return <Card title={T.$gpus} class="wide"><p class="muted">{T.$thisNodeHasNoGPUs}</p></Card>
  const measured = (metric: string): boolean => all.some((c) => last(m, c.device.id, metric) !== undefined)
  const [memory, hot, power] = [measured('gpu_memory_bytes'), measured('gpu_temperature_celsius'), measured('gpu_power_watts')]
  return (
    <Card title={T.$gpus} class="wide" aside={phrase(T.$usedOfAllAllocated, { used: milli(all.reduce((s, c) => s + c.device.used, 0)), all: all.length })}>
      <div class="scroll-x" tabIndex={0} role="region" aria-label={T.$gpus}>
        <table class="plain devices">
          <thead><tr><th scope="col">GPU</th><th scope="col" class="wide">{T.$type}</th><th scope="col">{T.$state}</th><th scope="col">{T.$allocatedTo}</th><th scope="col" class="wide">{phrase(T.$utilizationLastStretch, { stretch: stretch.value })}</th>{memory && <th scope="col" class="wide">{T.$memoryUsed}</th>}{hot && <th scope="col" data-align="end" class="wide">°C</th>}{power && <th scope="col" data-align="end" class="wide">W</th>}<th scope="col" class="wide">{T.$free}</th></tr></thead>
          <tbody>
            {all.map((c) => {
              const busy = m?.series.find((s) => s.device === c.device.id && s.metric === 'gpu_utilization_ratio')
              const id = c.device.id
              return (
                <tr key={id}>
                  <td title={id}>{c.device.index}</td>
                  <td class="wide">{short(c.device.product)} <span class="muted">{bytes(c.device.memoryBytes)}</span></td>
                  <td><span class="gpu-state" data-state={c.busy === 0 && c.held.length > 0 ? 'idle' : c.state}><i aria-hidden="true" />{c.busy === 0 && c.held.length > 0 ? T.$allocatedButIdle : cellWords[c.state]}</span></td>
                  <td>{c.held.length === 0 ? <span class="none">–</span> : c.held.map((x, i) => <span key={x.by.id + x.task}>{i > 0 && ', '}<Link to={workloadPath(x.by.project, x.by.name)}>{x.by.name}</Link>{x.part < 1000 && <span class="muted"> {milli(x.part)}</span>}</span>)}</td>
                  <td class="wide"><Spark of={busy} /></td>
                  {memory && <td class="wide"><Used used={last(m, id, 'gpu_memory_bytes') ?? 0} total={last(m, id, 'gpu_memory_total_bytes') ?? c.device.memoryBytes} text={bytes(last(m, id, 'gpu_memory_bytes') ?? 0)} /></td>}
                  {hot && <td data-align="end" class="wide">{Math.round(last(m, id, 'gpu_temperature_celsius') ?? NaN) || '–'}</td>}
                  {power && <td data-align="end" class="wide">{Math.round(last(m, id, 'gpu_power_watts') ?? NaN) || '–'}</td>}
                  <td class="muted wide">{freeWords(c)}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
    </Card>
  )
}

function General({ n }: { n: Node }) {
  return (
    <Card title={T.$details} class="wide" aside={<Button kind="quiet" icon="gear" onClick={() => later((l) => l.marksForm(n))}>{T.$labelsAndTaints}</Button>}>
      <Facts of={[
        [T.$cpu, <Used used={n.cpu.used} total={n.cpu.total} text={phrase(T.$usedOfTotalCoresAllocated, { used: gpus(Math.round(n.cpu.used / 100) / 10), total: gpus(Math.round(n.cpu.total / 100) / 10) })} />],
        [T.$memory, <Used used={n.memory.used} total={n.memory.total} text={phrase(T.$usedOfAllAllocated, { used: bytes(n.memory.used), all: bytes(n.memory.total) })} />],
        ...Object.entries(n.extended ?? {}).sort().map(([name, x]): [string, string] => [name, phrase(T.$usedOfAllAllocated, { used: x.used, all: x.total })]),
        [T.$tasks, plural(n.tasks, T.$nTasks)],
        [T.$cluster, n.backend && <Link to="clusters">{n.backend}</Link>],
        [T.$note, n.note],
        [T.$message2, n.message],
        [T.$taints, n.taints?.length ? n.taints.map((t) => <span class="label" key={t.key + t.effect}>{t.key}{t.value && '=' + t.value}:{t.effect}</span>) : null],
        [T.$labels, Object.keys(n.labels ?? {}).length ? Object.entries(n.labels!).sort().map(([k, v]) => <span class="label" key={k}>{k}{v && '=' + v}</span>) : null],
      ]} />
    </Card>
  )
}
