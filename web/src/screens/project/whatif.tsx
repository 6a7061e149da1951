// Quotas as they could be: what the scheduler says to that, and, if it pleases,
// doing it.
import { useRef, useState } from 'preact/hooks'
import { asError, send, type ApiError } from '../../api/client'
import type { RelatedWorkload, PoolQuota, Preview, Project, Standing, StandingShift } from '../../api/types'
import { plural, shell } from '../../lib/format'
import { workloadPath } from '../../lib/router'
import { Button, Card, Failure, Link } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { Icon } from '../../ui/icons'
import { ask, complain, toast } from '../../ui/overlay'
import { undoing } from '../../ui/undo'
import { amount } from '../../ui/quotabar'
import { python } from '../../work/acts'
import { capacity } from '../../work/standing'
import { phrase, T } from '../../texts'

type Field = 'quota' | 'limit' | 'weight'
/** What is written in the fields, by pool and field; absent: as it is. */
type Draft = Record<string, Partial<Record<Field, string>>>

const fields: [Field, string, string][] = [['quota', T.$guaranteed, '∞'], ['limit', T.$limit, '∞'], ['weight', T.$weight, '1']]

const said = (q: PoolQuota | undefined, f: Field): string => (q?.gpu?.[f] === undefined ? '' : String(q.gpu[f]))

/** Pools that the form has a line for: those it says something of, and those it uses. */
export function linesOf(p: Project, mine: Standing[]): string[] {
  const named = Object.keys(p.pools ?? {})
  const rest = mine.map((s) => s.pool).filter((x) => !named.includes(x))
  return named.length > 0 && named.includes('*') ? named.sort() : [...new Set([...named, ...rest])].sort()
}

/** The merge patch of a draft; a text where something is no number. */
export function patchOf(d: Draft): { pools: Record<string, { gpu: Record<string, number | null> }> } | string {
  const pools: Record<string, { gpu: Record<string, number | null> }> = {}
  for (const [pool, fs] of Object.entries(d)) {
    for (const [f, text] of Object.entries(fs)) {
      const n = text.trim() === '' ? null : Number(text)
      if (n !== null && !(Number.isFinite(n) && n >= 0)) return phrase(T.$poolTextIsNotAnAmountEnter, { pool, text })
      ;(pools[pool] ??= { gpu: {} }).gpu[f] = n
    }
  }
  return { pools }
}

/** The merge patch that takes a draft back; a pool of which nothing was set before is taken away. */
export const wasOf = (p: Project, d: Draft) => ({ pools: Object.fromEntries(Object.entries(d).map(([pool, fs]) => [pool, p.pools?.[pool] ? { gpu: Object.fromEntries((Object.keys(fs) as Field[]).map((f) => [f, p.pools?.[pool]?.gpu?.[f] ?? null])) } : null])) })

function flagsOf(d: Draft): string {
  return Object.entries(d).flatMap(([pool, fs]) => Object.entries(fs).map(([f, v]) => `--${f} ${shell(`${pool === '*' ? '' : pool + '.'}gpu=${v.trim() || 'none'}`)}`)).join(' ')
}

export function WhatIf({ p, mine, all }: { p: Project; mine: Standing[]; all: Standing[] }) {
  const [draft, setDraft] = useState<Draft>({})
  const [out, setOut] = useState<{ of: Draft; said: Preview } | null>(null)
  const [error, setError] = useState<ApiError | null>(null)
  const [busy, setBusy] = useState(false)
  const latest = useRef(0)
  const changed = Object.values(draft).some((fs) => Object.keys(fs).length > 0)
  const patch = patchOf(draft)
  const wrong = typeof patch === 'string' ? patch : undefined
  const refused = !changed ? T.$changeANumberFirst : wrong

  const set = (pool: string, f: Field, text: string): void => {
    const fs = { ...draft[pool] }
    if (text.trim() === said(p.pools?.[pool], f)) delete fs[f]
    else fs[f] = text
    const next = { ...draft, [pool]: fs }
    if (Object.keys(fs).length === 0) delete next[pool]
    setDraft(next)
  }
  const tryOut = async (): Promise<void> => {
    const mineNow = ++latest.current
    setBusy(true)
    try {
      const s = await send<Preview>('POST', 'v1/what-if', { projects: { [p.name]: patch } })
      if (mineNow !== latest.current) return
      setOut({ of: draft, said: s })
      setError(null)
    } catch (e) {
      if (mineNow === latest.current) {
        setError(asError(e))
        setOut(null)
      }
    }
    setBusy(false)
  }
  const kind = p.department ? 'department' : 'project'
  const doIt = async (): Promise<void> => {
    const leaves = out && out.of === draft ? out.said.leaves.length : 0
    if (!(await ask(phrase(T.$changeTheQuotasOfName, { name: p.name }), <p>{leaves > 0 ? phrase(T.$workloadsWouldBePreempted, { workloads: plural(leaves, T.$nWorkloads) }) : T.$theChangeTakesEffectAtOnce}</p>, T.$change, leaves > 0))) return
    try {
      const set = (to: unknown): Promise<unknown> => send('PATCH', `v1/${kind}s/${encodeURIComponent(p.name)}`, to, 'application/merge-patch+json')
      const was = wasOf(p, draft)
      await set(patch)
      setDraft({})
      setOut(null)
      setError(null)
      toast(phrase(T.$changedTheQuotasOfName, { name: p.name }), undoing(() => set(was), () => toast(phrase(T.$theQuotasOfNameAreAsBefore, { name: p.name }))))
    } catch (e) {
      complain(e, T.$couldNotChange)
    }
  }
  return (
    <Card class="wide" title={T.$simulateAnotherQuota} aside={changed && !wrong && typeof patch !== 'string' ? (
      <CopyAs of={() => ({
        cli: `muster ${kind} update ${shell(p.name)} ${flagsOf(draft)}`,
        python: python(`print(client.request("POST", "/v1/what-if", body={"projects": {${JSON.stringify(p.name)}: ${JSON.stringify(patch).replaceAll('null', 'None')}}}))`),
        curl: curl('v1/what-if', { method: 'POST', json: { projects: { [p.name]: patch } } }),
      })} />
    ) : undefined}>
      <form class="if-form" onSubmit={(e) => { e.preventDefault(); if (!refused) void tryOut() }}>
        <div class="scroll-x" tabIndex={0} role="region" aria-label={T.$gpuQuotas}>
          <table class="plain">
            <thead><tr><th scope="col">{T.$gpusByPool}</th>{fields.map(([f, title]) => <th key={f} scope="col">{title}</th>)}<th scope="col" class="if-slide">{T.$guaranteedSlider}</th></tr></thead>
            <tbody>
              {linesOf(p, mine).map((pool) => {
                const most = Math.max(1, pool === '*' ? Math.max(...all.map((s) => capacity(s.pool, 'gpu')), 1) : capacity(pool, 'gpu'))
                const text = (f: Field): string => draft[pool]?.[f] ?? said(p.pools?.[pool], f)
                return (
                  <tr key={pool}>
                    <td>{pool !== '*' ? pool : Object.keys(p.pools ?? {}).length > 1 ? T.$allOtherPools : T.$allPools}</td>
                    {fields.map(([f, title, none]) => (
                      <td key={f}><input type="text" inputMode="decimal" value={text(f)} placeholder={none} aria-label={phrase(T.$titleInPool, { title, pool })} data-changed={draft[pool]?.[f] !== undefined || undefined} onInput={(e) => set(pool, f, e.currentTarget.value)} /></td>
                    ))}
                    <td class="if-slide"><input type="range" min="0" max={most} step="1" value={Number(text('quota')) || 0} aria-label={phrase(T.$guaranteedInPoolFrom0To, { pool, most })}
                      onInput={(e) => set(pool, 'quota', e.currentTarget.value)} onChange={() => !refused && void tryOut()} /></td>
                  </tr>
                )
              })}
            </tbody>
          </table>
        </div>
        <div class="if-foot">
          <Button kind="main" type="submit" icon="search" refused={refused} aria-busy={busy}>{T.$simulate}</Button>
          <Button onClick={() => void doIt()} refused={refused}>{T.$apply}</Button>
          {changed && <Button kind="quiet" onClick={() => { setDraft({}); setOut(null); setError(null) }}>{T.$reset}</Button>}
          <span class="muted">{T.$anEmptyFieldMeansNoLimit}</span>
        </div>
        {wrong && <p class="warned" role="alert"><Icon name="warning" />{wrong}</p>}
      </form>
      {error && <Failure error={error} />}
      {out && <Answer p={p} s={out.said} old={out.of !== draft} />}
    </Card>
  )
}

function Answer({ p, s, old }: { p: Project; s: Preview; old: boolean }) {
  const warnings = s.items.flatMap((i) => i.warnings ?? [])
  const quiet = s.starts.length + s.leaves.length + s.waits.length + s.stays.length === 0
  const lead = quiet
    ? T.$noWorkloadWouldStartOrBe
    : [s.starts.length > 0 && phrase(T.$workloadsWouldStartAtOnce, { workloads: plural(s.starts.length, T.$nWorkloads) }), s.leaves.length > 0 && phrase(T.$workloadsWouldBePreempted2, { workloads: plural(s.leaves.length, T.$nWorkloads) }), s.waits.length > 0 && phrase(T.$workloadsWouldKeepWaiting, { workloads: plural(s.waits.length, T.$nWorkloads) }), s.stays.length > 0 && phrase(T.$workloadsWouldBeKept, { workloads: plural(s.stays.length, T.$nWorkloads) })].filter(Boolean).join(', ') + '.'
  return (
    <div class="if-out" role="status">
      <p class="if-lead">{lead}{old && <span class="muted">{T.$thisIsForThePrevious}</span>}</p>
      {warnings.map((w) => <p key={w} class="warned"><Icon name="warning" />{w}</p>)}
      {!quiet && (
        <div class="if-who">
          <Who title={T.$wouldStart} tone="running" of={s.starts} />
          <Who title={T.$wouldBePreempted} tone="degraded" of={s.leaves} />
          <Who title={T.$wouldKeepWaiting} tone="queued" of={s.waits} />
          <Who title={T.$wouldBeKept} tone="completed" of={s.stays} />
        </div>
      )}
      {s.standing.length > 0
        ? <Shifts of={s.standing} name={p.name} />
        : <p class="muted">{T.$nothingWouldChange}</p>}
      <p class="muted">{T.$computedByTheSchedulersOwn}</p>
    </div>
  )
}

const rights: Record<string, string> = { reclaim: T.$reclaimedForAnotherQuota, preempt: T.$ofLowerPriority, consolidation: T.$moved, relieve: T.$longRunTime }

function Who({ title, tone, of }: { title: string; tone: string; of: RelatedWorkload[] }) {
  if (of.length === 0) return null
  return (
    <section data-tone={tone}>
      <h3>{title}</h3>
      <ul>{of.slice(0, 12).map((n) => <li key={n.id}><Link to={workloadPath(n.project, n.name)}>{n.name}</Link> <span class="muted">{plural(n.gpus, T.$nGPUs)} · {n.project} · {n.user}{n.cause && ` · ${rights[n.cause] ?? n.cause}`}</span></li>)}</ul>
      {of.length > 12 && <p class="muted">{phrase(T.$andSideMostMore, { sideMost: of.length - 12 })}</p>}
    </section>
  )
}

function Shifts({ of, name }: { of: StandingShift[]; name: string }) {
  const cell = (a: number | undefined, b: number | undefined) => (a === b ? <span class="muted">{amount('gpu', b)}</span> : <>{amount('gpu', a)} → <span class="moved">{amount('gpu', b)}</span></>)
  const rows = [...of].sort((a, b) => Number(b.after.project === name) - Number(a.after.project === name) || a.after.project.localeCompare(b.after.project))
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={T.$resultingQuotas}>
      <table class="plain shifts">
        <thead><tr><th scope="col">{T.$queue}</th><th scope="col">{T.$pool}</th><th scope="col" class="end">{T.$guaranteed}</th><th scope="col" class="end">{T.$limit}</th><th scope="col" class="end">{T.$fairShare}</th><th scope="col" class="end">{T.$used2}</th><th scope="col" class="end">{T.$borrowed}</th></tr></thead>
        <tbody>{rows.map(({ before: b, after: a }) => (
          <tr key={a.project + a.pool}><td>{a.project}</td><td class="muted">{a.pool}</td><td class="end">{cell(b.gpu.guaranteed, a.gpu.guaranteed)}</td><td class="end">{cell(b.gpu.limit, a.gpu.limit)}</td><td class="end">{cell(b.gpu.fairShare, a.gpu.fairShare)}</td><td class="end">{amount('gpu', a.gpu.used)}</td><td class="end">{cell(b.gpu.over, a.gpu.over)}</td></tr>
        ))}</tbody>
      </table>
    </div>
  )
}
