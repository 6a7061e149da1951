import { useState } from 'preact/hooks'
import { send } from '../../api/client'
import type { Pool } from '../../api/types'
import { gpus, shell } from '../../lib/format'
import { cluster } from '../../live/store'
import { Bar, Button, Empty, Loading } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { ask, complain, toast } from '../../ui/overlay'
import { python } from '../../work/acts'
import { Ask, given, list, type Input, type Values } from '../../ui/ask'

const ways: [string, string][] = [['', 'as usual'], ['fill', 'fill'], ['binpack', 'binpack'], ['spread', 'spread']]

const inputs = (fresh: boolean, plain: boolean) => (): Input[] => [
  ...(fresh ? [{ name: 'name', required: true }] : []),
  ...(plain ? [] : [{ name: 'selector', note: 'The label that gathers its nodes', placeholder: 'pool=h100' }]),
  { name: 'topology', note: 'Labels of its nodes, from the widest domain to the narrowest', placeholder: 'row, rack' },
  { name: 'minRuntime', note: 'What has started in it is let alone for so long', placeholder: '10m' },
  { name: 'gpu', label: 'placement.gpu', options: ways, note: 'How its nodes are filled by work with GPUs' },
  { name: 'cpu', label: 'placement.cpu', options: ways, note: 'By work without' },
  { name: 'note' },
]

const specOf = (v: Values) => ({ ...given(v, 'selector', 'minRuntime', 'note'), ...(list(v.topology).length ? { topology: list(v.topology) } : {}), placement: given(v, 'gpu', 'cpu') })

/** Node pools: what gathers them, how they are filled. */
export function Pools() {
  const [editing, setEditing] = useState<Pool | 'new' | null>(null)
  const all = cluster.value?.pools
  if (!all) return <Loading what="Loading pools" rows={3} />
  return (
    <>
      <div class="toolbar">
        <span class="muted">Nodes that are alike. A workload is never spread over two.</span>
        <div class="toolbar-end">
          <CopyAs of={() => ({ cli: 'muster pool list', python: python('client.request("GET", "/v1/pools")'), curl: curl('v1/pools') })} />
          <Button kind="main" onClick={() => setEditing('new')}>New pool</Button>
        </div>
      </div>
      {all.length === 0 ? <Empty icon="node" title="There are no pools" /> : (
        <div class="card scroll-x" tabIndex={0} role="region" aria-label="Pools">
          <table class="plain rows">
            <thead><tr><th scope="col">Pool</th><th scope="col" data-align="end">Nodes</th><th scope="col">GPUs</th><th scope="col">Selector</th><th scope="col">Topology</th><th scope="col">Placement</th><th scope="col">Let alone for</th><th scope="col"><span class="sr">Acts</span></th></tr></thead>
            <tbody>{all.map((p) => <Row key={p.name} p={p} edit={() => setEditing(p)} />)}</tbody>
          </table>
        </div>
      )}
      {editing && <Edit p={editing === 'new' ? null : editing} close={() => setEditing(null)} />}
    </>
  )
}

function Row({ p, edit }: { p: Pool; edit: () => void }) {
  const no = p.name === 'default' ? 'Every node that no other pool gathers is in default' : !p.createdAt ? 'A backend names it; it is there as long as that does' : undefined
  const remove = async (): Promise<void> => {
    if (!(await ask(`Delete pool ${p.name}?`, <p>Its nodes go back to default. It cannot be deleted while something needs it.</p>, 'Delete'))) return
    try {
      await send('DELETE', 'v1/pools/' + encodeURIComponent(p.name))
      toast(`Deleted ${p.name}`)
    } catch (e) {
      complain(e)
    }
  }
  const used = `${gpus(p.gpu.used / 1000)} of ${gpus(p.gpu.total / 1000)}`
  return (
    <tr>
      <th scope="row">{p.name}{p.note && <div class="muted">{p.note}</div>}</th>
      <td data-align="end">{p.nodes}</td>
      <td><Bar part={p.gpu.used} whole={p.gpu.total} label={used + ' held'} /> {used}</td>
      <td>{p.selector ? <code>{p.selector}</code> : <span class="none">the rest</span>}</td>
      <td>{p.topology?.join(' › ') || <span class="none">–</span>}</td>
      <td>{[p.placement?.gpu && 'GPU ' + p.placement.gpu, p.placement?.cpu && 'CPU ' + p.placement.cpu].filter(Boolean).join(', ') || <span class="none">as usual</span>}</td>
      <td>{p.minRuntime || <span class="none">–</span>}</td>
      <td class="row-acts"><Button kind="quiet" onClick={edit} aria-label={'Edit ' + p.name}>Edit</Button><Button kind="quiet" icon="trash" aria-label={'Delete ' + p.name} refused={no} onClick={() => void remove()} /></td>
    </tr>
  )
}

function Edit({ p, close }: { p: Pool | null; close: () => void }) {
  const plain = p?.name === 'default'
  return (
    <Ask title={p ? `Edit pool ${p.name}` : 'New pool'} inputs={inputs(!p, plain)} yes={p ? 'Save' : 'Make it'} close={close}
      first={p ? { selector: p.selector ?? '', topology: (p.topology ?? []).join(', '), minRuntime: p.minRuntime ?? '', note: p.note ?? '', gpu: p.placement?.gpu ?? '', cpu: p.placement?.cpu ?? '' } : {}}
      act={async (v) => {
        const name = p?.name ?? v.name!.trim()
        const done = p ? await send<Pool>('PUT', 'v1/pools/' + encodeURIComponent(name), specOf(v)) : await send<Pool>('POST', 'v1/pools', { name, ...specOf(v) })
        toast(done?.warnings?.length ? `Saved; ${done.warnings.join('; ')}` : `Saved ${shell(name)}`)
      }} />
  )
}
