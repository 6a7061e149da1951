// One machine: its few GPUs as large as the page lets them be.
import type { Node } from '../../api/types'
import { cellWords, freeAt, packed, short, type Cell } from '../../fleet/nodes'
import { milli, nodePath, Used } from '../../fleet/parts'
import { bytes, gpus } from '../../lib/format'
import { workloadPath } from '../../lib/router'
import { Link } from '../../ui/basics'
import { Links } from '../node/links'
import { partsOf, type Mode } from './looks'
import { busyWords, describe, freeWords } from './words'
import { phrase, T } from '../../texts'

interface Props {
  node: Node
  cells: Cell[]
  mode: Mode
  projects: string[]
  lit: ReadonlySet<Cell> | null
  ghosts: ReadonlySet<Cell>
  /** Of another time than now: nothing was measured. */
  then: boolean
  onAt: (c: Cell | null) => void
}

export function Bench(p: Props) {
  const n = p.node
  return (
    <div class="bench">
      <div class="bench-node">
        <Link to={nodePath(n.name)} class="row-link">{n.name}</Link>
        {!p.then && <>
          <span>{T.$cpu} <Used used={n.cpu.used} total={n.cpu.total} text={phrase(T.$usedOfTotal, { used: gpus(Math.round(n.cpu.used / 100) / 10), total: gpus(n.cpu.total / 1000) })} /></span>
          <span>{T.$memory} <Used used={n.memory.used} total={n.memory.total} text={phrase(T.$usedOfTotal, { used: bytes(n.memory.used), total: bytes(n.memory.total) })} /></span>
          {Object.entries(n.mig ?? {}).map(([name, x]) => (
            <span key={name}>{phrase(T.$migProfile, { name })} <Used used={x.used} total={x.total} text={phrase(T.$usedOfTotal, { used: x.used, total: x.total })} /></span>
          ))}
        </>}
      </div>
      {p.cells.length > 0 && <ul class="bench-gpus" aria-label={T.$gpus} data-count={p.cells.length}>
        {p.cells.map((c) => <li key={c.device.id}><One of={c} p={p} /></li>)}
      </ul>}
      {n.mig && <div class="bench-mig" role="img" aria-label={Object.entries(n.mig).map(([name, x]) => [phrase(T.$migProfile, { name }), phrase(T.$usedOfTotal, { used: x.used, total: x.total })].join(' ')).join('; ')}>
        {packed(n).map((slices, i) => <span key={i}>{slices.map((s, j) => <i key={j} title={s.profile} data-used={s.used || undefined} style={{ width: s.part * 100 + '%' }}>{s.profile}</i>)}</span>)}
        <p class="muted">{T.$migIsCountedByNode}</p>
      </div>}
      {!p.then && <Links n={n} />}
    </div>
  )
}

function One({ of: c, p }: { of: Cell; p: Props }) {
  const parts = partsOf(c, p.mode, p.projects)
  const faint = p.lit !== null && !p.lit.has(c) && !p.ghosts.has(c)
  const free = freeAt(c)
  return (
    <article class="bench-gpu" title={describe(c)} data-state={c.state} data-faint={faint || undefined} data-lit={p.lit?.has(c) || undefined} data-ghost={p.ghosts.has(c) || undefined}
      onPointerEnter={() => p.onAt(c)} onPointerLeave={() => p.onAt(null)} onFocusIn={() => p.onAt(c)} onFocusOut={() => p.onAt(null)}>
      <h2>{phrase(T.$gpuGpu, { gpu: c.device.index })} <span class="muted">{short(c.device.product)}{c.device.fake && T.$simulated}</span></h2>
      <div class="bench-bar" aria-hidden="true">
        {parts.map((x, i) => x.look.id === 'free' ? null : <i key={i} data-mark={x.look.mark} style={{ '--look': `var(--${x.look.color})`, width: x.share * 100 + '%' }} />)}
      </div>
      <p class="bench-state">{cellWords[c.state]}{!p.then && c.busy !== undefined && <b>{busyWords(c)}</b>}</p>
      {c.held.map((x) => (
        <p key={x.by.id + x.task} class="bench-by">
          {x.by.name ? <Link to={workloadPath(x.by.project, x.by.name)} class="row-link clip">{x.by.name}</Link> : <span class="muted">{T.$aHiddenWorkload}</span>}
          <span class="muted clip">{[x.by.project, x.by.user].filter(Boolean).join(', ')}{x.part < 1000 && phrase(T.$fractionPart, { part: milli(x.part) })}</span>
        </p>
      ))}
      {c.held.length > 0 && !Number.isNaN(free) && <p class="muted bench-free">{phrase(T.$freeFreeWords, { freeWords: freeWords(c) })}</p>}
    </article>
  )
}
