import { useMemo } from 'preact/hooks'
import { cellWords, freeAt, short, type Cell } from '../../fleet/nodes'
import { NodeLink } from '../../fleet/parts'
import { setQuery, workloadPath } from '../../lib/router'
import { Empty, Link } from '../../ui/basics'
import { Table, type Column, type Sort } from '../../ui/table'
import { busyWords, freeWords, holderWords } from './words'
import { T } from '../../texts'

const text = (f: (c: Cell) => string) => (a: Cell, b: Cell): number => f(a).localeCompare(f(b), undefined, { numeric: true })

const columns: Column<Cell>[] = [
  { id: 'node', title: T.$node, width: 120, grow: 2, rank: 1, text: (c) => c.node.name, sort: text((c) => c.node.name), cell: (c) => <NodeLink name={c.node.name} /> },
  { id: 'gpu', title: 'GPU', width: 56, align: 'end', rank: 2, text: (c) => String(c.device.index), sort: (a, b) => a.device.index - b.device.index, cell: (c) => c.device.index },
  { id: 'type', title: T.$type, width: 110, grow: 1, rank: 6, text: (c) => c.device.product, sort: text((c) => c.device.product), cell: (c) => <span class="clip">{short(c.device.product)}</span> },
  { id: 'pool', title: T.$pool, width: 90, grow: 0.5, rank: 8, text: (c) => c.node.pool, sort: text((c) => c.node.pool), cell: (c) => <span class="clip">{c.node.pool}</span> },
  { id: 'state', title: T.$state, width: 120, rank: 3, text: (c) => cellWords[c.state], sort: text((c) => cellWords[c.state]), cell: (c) => cellWords[c.state] },
  { id: 'by', title: T.$allocatedTo, width: 140, grow: 3, rank: 4, text: holderWords, sort: text(holderWords),
    cell: (c) => c.held.length === 0 ? <span class="none">–</span> : <span class="clip">{c.held.map((x, i) => <>{i > 0 && ', '}<Link to={workloadPath(x.by.project, x.by.name)}>{x.by.name}</Link></>)}</span> },
  { id: 'busy', title: T.$utilization, width: 100, align: 'end', rank: 5, text: busyWords, sort: (a, b) => (a.busy ?? -1) - (b.busy ?? -1), cell: (c) => busyWords(c) },
  { id: 'free', title: T.$free, width: 120, align: 'end', rank: 7, text: freeWords, sort: (a, b) => (freeAt(a) || (a.state === 'free' ? 0 : Infinity)) - (freeAt(b) || (b.state === 'free' ? 0 : Infinity)) || 0, cell: (c) => freeWords(c) },
]

/** The map as a table. */
export function Twin({ cells, query, open }: { cells: Cell[]; query: URLSearchParams; open: (c: Cell) => void }) {
  const s = query.get('sort')
  const sort: Sort | null = s ? { by: s.replace(/^-/, ''), down: s.startsWith('-') } : null
  const rows = useMemo(() => {
    const by = sort && columns.find((c) => c.id === sort.by)?.sort
    return by ? [...cells].sort((a, b) => (sort.down ? -by(a, b) : by(a, b))) : [...cells].sort(text((c) => c.node.name))
  }, [cells, s])
  return <Table label={T.$gpus} columns={columns} rows={rows} keyOf={(c) => c.node.name + '/' + c.device.id} open={open} sort={sort} onSort={(x) => setQuery({ sort: (x.down ? '-' : '') + x.by })} empty={<Empty icon="chip" title={T.$noGPUMatchesTheFilter} />} />
}
