import './style.css'
import { useState } from 'preact/hooks'
import type { Metrics, Node } from '../../api/types'
import { change } from '../../fleet/acts'
import { cells, cellWords, freeOf, kindsOf, short, stateOf, troubles, useHoldings, type Cell } from '../../fleet/nodes'
import { NodeStatus, Used, milli } from '../../fleet/parts'
import { bytes, gpus, plural, shell } from '../../lib/format'
import { later } from '../../lib/later'
import { workloadPath } from '../../lib/router'
import { useLive } from '../../live/fetch'
import { cluster, loadError } from '../../live/store'
import type { Screen, ScreenProps } from '../../screen'
import { Button, Card, Empty, Facts, Failure, Link, Loading, Page } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { ask } from '../../ui/overlay'
import { Icon } from '../../ui/icons'
import { python } from '../../work/acts'
import { freeWords } from '../map/words'
import { Draining, DrainDialog, Residents, usePreview } from './drain'
import { Spark } from '../../ui/spark'
import { Courses, stretch } from './courses'

function NodePage({ params }: ScreenProps) {
  const name = params.name ?? ''
  const c = cluster.value
  const n = c?.nodes.find((x) => x.name === name)
  if (!c) return <Page title={name}>{loadError.value ? <Failure error={loadError.value} /> : <Loading />}</Page>
  if (!n) {
    return (
      <Page title={name} sub={<Link to="nodes">Nodes</Link>}>
        <Empty icon="search" title={`There is no node ${name}`}><p>It may have gone, or be called otherwise.</p><Link to="nodes">To the nodes</Link></Empty>
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
  const t = troubles(n).filter((x) => x.startsWith('GPU') || n.cutOff || !n.ready)
  return (
    <Page title={n.name} class="node-page" sub={<><NodeStatus of={n} /><span class="crumbs"><Link to="nodes">Nodes</Link></span><span>pool <Link to={'nodes?q=pool:' + encodeURIComponent(n.pool)}>{n.pool}</Link></span><span>{kindsOf(n) || 'no GPUs'}</span>{n.devices.length > 0 && <span>{gpus(freeOf(n))} free</span>}</>}
      actions={<Actions n={n} drain={() => setDraining(true)} />}>
      {t.length > 0 && <p class="node-alarm" role="status"><Icon name="warning" />{t.join('; ')}</p>}
      {n.cordoned && <Draining n={n} preview={preview.data} />}
      <div class="node-grid">
        <Devices cells={all} m={measured.data} />
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
  return (
    <>
      {n.cordoned
        ? <Button icon="restart" onClick={() => void change(n.name, 'uncordon')} title="Let work in again">Uncordon</Button>
        : <Button icon="noentry" onClick={async () => {
          if (await ask(`Cordon ${n.name}?`, <p>Nothing new starts on it. What runs there goes on.</p>, 'Cordon', false)) void change(n.name, 'cordon')
        }}>Cordon</Button>}
      <Button icon="exit" kind="danger" refused={n.draining ? (state === 'Drained' ? 'It is empty already' : 'It is being drained') : undefined} onClick={drain} aria-haspopup="dialog">Drain</Button>
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
  if (all.length === 0) return <Card title="GPUs" class="wide"><p class="muted">It has none: only work without GPUs runs here.</p></Card>
  const measured = (metric: string): boolean => all.some((c) => last(m, c.device.id, metric) !== undefined)
  const [memory, hot, power] = [measured('gpu_memory_bytes'), measured('gpu_temperature_celsius'), measured('gpu_power_watts')]
  return (
    <Card title="GPUs" class="wide" aside={`${milli(all.reduce((s, c) => s + c.device.used, 0))} of ${all.length} held`}>
      <div class="scroll-x" tabIndex={0} role="region" aria-label="GPUs">
        <table class="plain devices">
          <thead><tr><th scope="col">GPU</th><th scope="col" class="wide">Type</th><th scope="col">State</th><th scope="col">Held by</th><th scope="col" class="wide">Busy, the last {stretch.value}</th>{memory && <th scope="col" class="wide">Memory used</th>}{hot && <th scope="col" data-align="end" class="wide">°C</th>}{power && <th scope="col" data-align="end" class="wide">W</th>}<th scope="col" class="wide">Free</th></tr></thead>
          <tbody>
            {all.map((c) => {
              const busy = m?.series.find((s) => s.device === c.device.id && s.metric === 'gpu_utilization_ratio')
              const id = c.device.id
              return (
                <tr key={id}>
                  <td title={id}>{c.device.index}</td>
                  <td class="wide">{short(c.device.product)} <span class="muted">{bytes(c.device.memoryBytes)}</span></td>
                  <td><span class="gpu-state" data-state={c.busy === 0 && c.held.length > 0 ? 'idle' : c.state}><i aria-hidden="true" />{c.busy === 0 && c.held.length > 0 ? 'Idle though held' : cellWords[c.state]}</span></td>
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
    <Card title="Facts" class="wide" aside={<Button kind="quiet" icon="gear" onClick={() => later((l) => l.marksForm(n))}>Labels and taints</Button>}>
      <Facts of={[
        ['CPU', <Used used={n.cpu.used} total={n.cpu.total} text={`${gpus(Math.round(n.cpu.used / 100) / 10)} of ${gpus(Math.round(n.cpu.total / 100) / 10)} cores held`} />],
        ['Memory', <Used used={n.memory.used} total={n.memory.total} text={`${bytes(n.memory.used)} of ${bytes(n.memory.total)} held`} />],
        ...Object.entries(n.extended ?? {}).sort().map(([name, x]): [string, string] => [name, `${x.used} of ${x.total} held`]),
        ['Tasks', plural(n.tasks, 'task')],
        ['Cluster', n.backend && <Link to="clusters">{n.backend}</Link>],
        ['Note', n.note],
        ['Message', n.message],
        ['Taints', n.taints?.length ? n.taints.map((t) => <span class="label" key={t.key + t.effect}>{t.key}{t.value && '=' + t.value}:{t.effect}</span>) : null],
        ['Labels', Object.keys(n.labels ?? {}).length ? Object.entries(n.labels!).sort().map(([k, v]) => <span class="label" key={k}>{k}{v && '=' + v}</span>) : null],
      ]} />
    </Card>
  )
}

export default {
  path: 'nodes/:name',
  title: (p) => p.name ?? '',
  view: NodePage,
} satisfies Screen
