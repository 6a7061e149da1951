import './style.css'
import { useMemo } from 'preact/hooks'
import type { Node } from '../../api/types'
import { byName, freeOf, kindsOf, stateOf, troubles, version } from '../../fleet/nodes'
import { NodeLink, NodeStatus, nodePath, Used, milli } from '../../fleet/parts'
import { compares, like, parse, withTerm, type Term } from '../../lib/filter'
import { bytes, gpus, plural } from '../../lib/format'
import { go, setQuery } from '../../lib/router'
import { cluster, loadError } from '../../live/store'
import type { Screen, ScreenProps } from '../../screen'
import { Button, Empty, Failure, Loading, Page } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { FilterBar, type Field } from '../../ui/filterbar'
import { Table, type Column, type Sort } from '../../ui/table'
import { python } from '../../work/acts'
import { phrase, T } from '../../texts'

const names = new Set(['status', 'pool', 'cluster', 'gpu', 'gpus', 'free', 'name', 'is', 'label'])

type Test = (n: Node) => boolean

function one(t: Term, v: string): Test {
  switch (t.field) {
    case 'status': return (n) => like(stateOf(n), v)
    case 'pool': return (n) => like(n.pool, v)
    case 'cluster': return (n) => like(n.backend, v)
    case 'gpu': return (n) => n.devices.some((d) => d.product.toLowerCase().includes(v.toLowerCase()))
    case 'gpus': return (n) => compares(n.devices.length, t.op, Number(v))
    case 'free': return (n) => compares(freeOf(n), t.op === ':' ? '>=' : t.op, Number(v))
    case 'name': return (n) => like(n.name, v)
    case 'label': return (n) => Object.keys(n.labels ?? {}).some((k) => like(k, v))
    case 'is': return (n) => v === 'trouble' ? troubles(n).length > 0 : v === 'free' ? freeOf(n) > 0 : v === 'idle' && n.tasks === 0
    default: {
      const key = t.field.slice('label.'.length)
      return (n) => n.labels?.[key] !== undefined && like(n.labels[key], v)
    }
  }
}

/** A filter of nodes as a function. */
export function nodeFilter(text: string): Test {
  const tests = parse(text, names).map((t): Test => {
    if (t.field !== '' && t.values.length === 0) return () => true
    const any = t.field === '' ? [(n: Node) => n.name.toLowerCase().includes(t.values[0] ?? '')] : t.values.map((v) => one(t, v))
    return (n) => any.some((f) => f(n)) !== t.not
  })
  return (n) => tests.every((f) => f(n))
}

const distinct = (f: (n: Node) => string[]) => (): string[] => [...new Set((cluster.value?.nodes ?? []).flatMap(f))].filter(Boolean).sort()

const fields: Field[] = [
  { name: 'status', about: 'Ready, Cordoned, Draining, Drained, NotReady, CutOff', values: () => ['Ready', 'Cordoned', 'Draining', 'Drained', 'NotReady', 'CutOff'] },
  { name: 'pool', about: T.$itsPool, values: distinct((n) => [n.pool]) },
  { name: 'cluster', about: T.$itsCluster, values: distinct((n) => [n.backend]) },
  { name: 'gpu', about: T.$itsGPUType, values: distinct((n) => n.devices.map((d) => d.product)) },
  { name: 'free', about: T.$atLeastThisManyFreeGPUs },
  { name: 'is', about: 'free, idle, trouble', values: () => ['free', 'idle', 'trouble'] },
  { name: 'label', about: T.$hasThisLabelLabelKEYVALUE, values: distinct((n) => Object.keys(n.labels ?? {})) },
]

const text = (f: (n: Node) => string) => (a: Node, b: Node): number => f(a).localeCompare(f(b), undefined, { numeric: true })
const number = (f: (n: Node) => number) => (a: Node, b: Node): number => f(a) - f(b)

const columns = (many: boolean): Column<Node>[] => [
  { id: 'name', title: T.$name, width: 130, grow: 2, rank: 1, sort: byName, text: (n) => n.name, cell: (n) => <NodeLink name={n.name} /> },
  { id: 'status', title: T.$status, width: 116, rank: 2, sort: text(stateOf), text: stateOf, cell: (n) => <NodeStatus of={n} plain /> },
  { id: 'pool', title: T.$pool, width: 100, grow: 0.6, rank: 6, sort: text((n) => n.pool), text: (n) => n.pool, cell: (n) => <span class="clip">{n.pool}</span> },
  ...(many ? [{ id: 'cluster', title: T.$cluster, width: 100, grow: 0.6, rank: 5, sort: text((n) => n.backend), text: (n: Node) => n.backend, cell: (n: Node) => <span class="clip">{n.backend}</span> }] : []),
  { id: 'type', title: T.$gpus, width: 130, grow: 1.2, rank: 7, sort: text(kindsOf), text: kindsOf, cell: (n) => n.devices.length ? <span class="clip" title={kindsOf(n)}>{kindsOf(n)}</span> : <span class="none">–</span> },
  { id: 'held', title: T.$allocated, width: 150, rank: 4, sort: number((n) => n.gpu.used), text: (n) => milli(n.gpu.used), cell: (n) => <Held of={n} /> },
  { id: 'free', title: T.$free, width: 62, align: 'end', rank: 3, sort: number(freeOf), text: (n) => gpus(freeOf(n)), cell: (n) => n.devices.length ? <b class={freeOf(n) > 0 ? 'some' : 'none'}>{gpus(freeOf(n))}</b> : <span class="none">–</span> },
  { id: 'cpu', title: T.$cpu, width: 158, rank: 9, sort: number((n) => n.cpu.used / n.cpu.total), text: (n) => `${milli(n.cpu.used)}/${milli(n.cpu.total)}`, cell: (n) => <Used used={n.cpu.used} total={n.cpu.total} text={phrase(T.$usedOfTotal, { used: gpus(Math.round(n.cpu.used / 100) / 10), total: gpus(Math.round(n.cpu.total / 100) / 10) })} /> },
  { id: 'memory', title: T.$memory, width: 186, rank: 10, sort: number((n) => n.memory.used / n.memory.total), text: (n) => `${n.memory.used}/${n.memory.total}`, cell: (n) => <Used used={n.memory.used} total={n.memory.total} text={phrase(T.$usedOfTotal, { used: bytes(n.memory.used), total: bytes(n.memory.total) })} /> },
  { id: 'tasks', title: T.$tasks, width: 64, align: 'end', rank: 8, sort: number((n) => n.tasks), text: (n) => String(n.tasks), cell: (n) => n.tasks || <span class="none">0</span> },
  { id: 'note', title: T.$note, width: 120, grow: 2, rank: 7.5, text: (n) => troubles(n).join('; '), cell: (n) => { const t = troubles(n).join('; '); return <span class="clip muted" title={t}>{n.note || t}</span> } },
]

function Held({ of: n }: { of: Node }) {
  if (n.devices.length === 0) return <span class="none">–</span>
  return <Used used={n.gpu.used} total={n.gpu.total} text={phrase(T.$usedOfTotal, { used: milli(n.gpu.used), total: n.devices.length })} />
}

const presets: [string, string][] = [[T.$withFreeGPUs, 'free'], [T.$withProblems, 'trouble'], [T.$idle, 'idle']]

function Nodes({ query }: ScreenProps) {
  const c = cluster.value
  const filter = query.get('q') ?? ''
  const s = query.get('sort')
  const sort: Sort | null = s ? { by: s.replace(/^-/, ''), down: s.startsWith('-') } : null
  const many = new Set(c?.nodes.map((n) => n.backend)).size > 1
  const cols = useMemo(() => columns(many), [many])
  const rows = useMemo(() => {
    const by = (sort && cols.find((x) => x.id === sort.by)?.sort) ?? byName
    return (c?.nodes ?? []).filter(nodeFilter(filter)).sort((a, b) => (sort?.down ? -by(a, b) : by(a, b)) || byName(a, b))
  }, [c && version(c), filter, s, cols])
  const set = (q: string): void => setQuery({ q })
  return (
    <Page title={T.$nodes} fill sub={c && <span>{phrase(T.$moreFreeOfOfDevicesGPUs, { more: filter ? phrase(T.$usedOfTotal, { used: rows.length, total: plural(c.nodes.length, T.$nNodes) }) : plural(c.nodes.length, T.$nNodes), freeOf: gpus(rows.reduce((sum, n) => sum + freeOf(n), 0)), devices: gpus(rows.reduce((sum, n) => sum + n.devices.length, 0)) })}</span>}
      actions={<CopyAs of={() => ({ cli: 'muster node list', python: python('for n in client.cluster()["nodes"]:', '    print(n["name"], n["ready"], n["gpu"])'), curl: curl('v1/nodes') })} />}>
      <div class="toolbar">
        <FilterBar value={filter} onChange={set} fields={fields} placeholder={T.$filterByNameStatusReady} />
        <div class="presets" role="group" aria-label={T.$commonFilters}>
          {presets.map(([name, v]) => {
            const on = filter.split(/\s+/).includes('is:' + v)
            return <button key={v} type="button" aria-pressed={on} onClick={() => set(withTerm(filter, 'is', on ? [] : [v]))}>{name}</button>
          })}
        </div>
      </div>
      {!c ? loadError.value ? <Failure error={loadError.value} /> : <Loading what={T.$loadingNodes} rows={8} /> : (
        <Table label={T.$nodes} columns={cols} rows={rows} keyOf={(n) => n.name} open={(n) => go(nodePath(n.name))} sort={sort} onSort={(x) => setQuery({ sort: (x.down ? '-' : '') + x.by })}
          empty={filter ? <Empty icon="search" title={T.$noNodeMatchesTheFilter}><Button onClick={() => set('')}>{T.$clearFilter}</Button></Empty>
            : <Empty icon="node" title={T.$noNodes}><p>{T.$nodesComeFromTheServers}</p><pre class="code"><code>muster server --backend local</code></pre></Empty>} />
      )}
    </Page>
  )
}

export default {
  path: 'nodes',
  title: () => T.$nodes,
  view: Nodes,
  nav: { label: T.$nodes, icon: 'node', order: 52, key: 'n', group: T.$infrastructure },
} satisfies Screen
