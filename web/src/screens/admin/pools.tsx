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
import { mayNot } from '../../live/may'
import { phrase, T } from '../../texts'

const ways: [string, string][] = [['', T.$default], ['fill', 'fill'], ['binpack', 'binpack'], ['spread', 'spread']]

const inputs = (fresh: boolean, plain: boolean) => (): Input[] => [
  ...(fresh ? [{ name: 'name', required: true }] : []),
  ...(plain ? [] : [{ name: 'selector', note: T.$labelThatSelectsItsNodes, placeholder: 'pool=h100' }]),
  { name: 'topology', note: T.$nodeLabelsFromTheWidest, placeholder: 'row, rack' },
  { name: 'minRuntime', note: T.$howLongAStartedWorkloadIs, placeholder: '10m' },
  { name: 'gpu', label: 'placement.gpu', options: ways, note: T.$howWorkloadsWithGPUsFill },
  { name: 'cpu', label: 'placement.cpu', options: ways, note: T.$howWorkloadsWithoutGPUs },
  { name: 'note' },
]

const specOf = (v: Values) => ({ ...given(v, 'selector', 'minRuntime', 'note'), ...(list(v.topology).length ? { topology: list(v.topology) } : {}), placement: given(v, 'gpu', 'cpu') })

/** Node pools: what gathers them, how they are filled. */
export function Pools() {
  const [editing, setEditing] = useState<Pool | 'new' | null>(null)
  const all = cluster.value?.pools
  if (!all) return <Loading what={T.$loadingPools} rows={3} />
  return (
    <>
      <div class="toolbar">
        <span class="muted">{T.$groupsOfSimilarNodesA}</span>
        <div class="toolbar-end">
          <CopyAs of={() => ({ cli: 'muster pool list', python: python('client.request("GET", "/v1/pools")'), curl: curl('v1/pools') })} />
          <Button kind="main" refused={mayNot('create', 'pools', '-')} onClick={() => setEditing('new')}>{T.$newPool}</Button>
        </div>
      </div>
      {all.length === 0 ? <Empty icon="node" title={T.$noPools} /> : (
        <div class="card scroll-x" tabIndex={0} role="region" aria-label={T.$pools}>
          <table class="plain rows stacked">
            <thead><tr><th scope="col">{T.$pool}</th><th scope="col" data-align="end">{T.$nodes}</th><th scope="col">{T.$gpus}</th><th scope="col">{T.$selector}</th><th scope="col">{T.$topology}</th><th scope="col">{T.$placement}</th><th scope="col">{T.$minimumRunTime}</th><th scope="col"><span class="sr">{T.$actions}</span></th></tr></thead>
            <tbody>{all.map((p) => <Row key={p.name} p={p} edit={() => setEditing(p)} />)}</tbody>
          </table>
        </div>
      )}
      {editing && <Edit p={editing === 'new' ? null : editing} close={() => setEditing(null)} />}
    </>
  )
}

function Row({ p, edit }: { p: Pool; edit: () => void }) {
  const no = p.name === 'default' ? T.$nodesThatNoOtherPool : !p.createdAt ? T.$definedByABackendItExists : undefined
  const remove = async (): Promise<void> => {
    if (!(await ask(phrase(T.$deletePoolName, { name: p.name }), <p>{T.$itsNodesReturnToTheDefault}</p>, T.$delete))) return
    try {
      await send('DELETE', 'v1/pools/' + encodeURIComponent(p.name))
      toast(phrase(T.$deletedName, { name: p.name }))
    } catch (e) {
      complain(e)
    }
  }
  const used = phrase(T.$usedOfTotal, { used: gpus(p.gpu.used / 1000), total: gpus(p.gpu.total / 1000) })
  return (
    <tr>
      <th scope="row">{p.name}{p.note && <div class="muted">{p.note}</div>}</th>
      <td data-head={T.$nodes} data-align="end">{p.nodes}</td>
      <td data-head={T.$gpus}><Bar part={p.gpu.used} whole={p.gpu.total} label={phrase(T.$usedAllocated, { used })} /> {used}</td>
      <td data-head={T.$selector}>{p.selector ? <code>{p.selector}</code> : <span class="none">{T.$allOtherNodes}</span>}</td>
      <td data-head={T.$topology}>{p.topology?.join(' › ') || <span class="none">–</span>}</td>
      <td data-head={T.$placement}>{[p.placement?.gpu && phrase(T.$gpuGpu, { gpu: p.placement.gpu }), p.placement?.cpu && phrase(T.$cpuCpu, { cpu: p.placement.cpu })].filter(Boolean).join(', ') || <span class="none">{T.$default}</span>}</td>
      <td data-head={T.$minimumRunTime}>{p.minRuntime || <span class="none">–</span>}</td>
      <td class="row-acts"><Button kind="quiet" refused={mayNot('update', 'pools', '-')} onClick={edit} aria-label={phrase(T.$editName, { name: p.name })}>{T.$edit}</Button><Button kind="quiet" icon="trash" aria-label={phrase(T.$deleteName, { name: p.name })} refused={no ?? mayNot('delete', 'pools', '-')} onClick={() => void remove()} /></td>
    </tr>
  )
}

function Edit({ p, close }: { p: Pool | null; close: () => void }) {
  const plain = p?.name === 'default'
  return (
    <Ask title={p ? phrase(T.$editPoolName, { name: p.name }) : T.$newPool} inputs={inputs(!p, plain)} yes={p ? T.$save : T.$create} close={close}
      first={p ? { selector: p.selector ?? '', topology: (p.topology ?? []).join(', '), minRuntime: p.minRuntime ?? '', note: p.note ?? '', gpu: p.placement?.gpu ?? '', cpu: p.placement?.cpu ?? '' } : {}}
      act={async (v) => {
        const name = p?.name ?? v.name!.trim()
        const done = p ? await send<Pool>('PUT', 'v1/pools/' + encodeURIComponent(name), specOf(v)) : await send<Pool>('POST', 'v1/pools', { name, ...specOf(v) })
        toast(done?.warnings?.length ? phrase(T.$savedList, { list: done.warnings.join('; ') }) : phrase(T.$savedName, { name: shell(name) }))
      }} />
  )
}
