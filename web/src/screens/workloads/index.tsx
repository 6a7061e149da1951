import './style.css'
import { signal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { get, params } from '../../api/client'
import type { Metrics, Row, RowList, UsageList } from '../../api/types'
import { present } from '../../lib/clock'
import { split, withTerm } from '../../lib/filter'
import { count, ms, plural, shell } from '../../lib/format'
import { useKeys } from '../../lib/keys'
import { later } from '../../lib/later'
import { csv, saveText } from '../../lib/save'
import { dialect, remembered, texts } from '../../lib/prefs'
import { go, href, readable, setQuery, workloadPath } from '../../lib/router'
import { useLive, useReading } from '../../live/fetch'
import { lastHeard } from '../../live/stream'
import { spoken } from '../../live/words'
import { allRows, loadError, loading, olderLeft, projectNames, rowsVersion, session, waits } from '../../live/store'
import type { Screen, ScreenProps } from '../../screen'
import { Button, Empty, Failure, Link, Loading, Page } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { FilterBar, type Field } from '../../ui/filterbar'
import { Icon } from '../../ui/icons'
import { copy, Menu, toast } from '../../ui/overlay'
import { Table, type Sort } from '../../ui/table'
import { inHand, acts, fit, perform, python, refusal, said, seldom, verb, type Act } from '../../work/acts'
import { useFirstErrors } from '../../work/firsterrors'
import { asksDeleted, compile, groups, trouble } from '../../work/filter'
import { live } from '../../work/waiting'
import { busy, charged, columns, pathOf, telling } from './columns'
import { phrase, T } from '../../texts'

/** A list as somebody wants to see it again; query is what follows the "?". */
interface View { name: string; query: string }

const isViews = (v: unknown): v is View[] => Array.isArray(v) && v.every((x) => typeof x?.name === 'string' && typeof x?.query === 'string')

const shown = remembered<string[]>('workloads.columns', columns.filter((c) => !c.optional).map((c) => c.id), texts)
const views = remembered<View[]>('workloads.saved', [], isViews)
const chosen = signal<ReadonlySet<string>>(new Set())
const fitting = signal('') // ids of the columns that there is room for

const presets: { label: string; term: string }[] = [
  { label: T.$active, term: 'status:active' },
  { label: T.$running, term: 'status:running' },
  { label: T.$waiting2, term: 'status:waiting' },
  { label: T.$failed3, term: 'status:bad' },
  { label: T.$failedIn24H, term: 'status:bad ended<1d' },
  { label: T.$idleGPUs, term: 'status:active is:idle' },
]
// One of them is chosen, and takes the place of another.
const ofPreset = /^(status:|ended[:<>]|is:idle$)/

const distinct = (f: (r: Row) => string) => (): string[] => [...new Set(allRows().map(f))].filter(Boolean).sort()

const fields: Field[] = [
  { name: 'status', about: T.$phaseOrActiveWaiting, values: () => [...new Set([...Object.keys(groups), ...distinct((r) => (dialect.value === 'native' ? r.phase : (r.words[dialect.value] ?? r.phase)))(), ...(dialect.value === 'native' || spoken('Deleted') ? ['Deleted'] : [])])] },
  { name: 'user', about: T.$whoSubmittedItMeForYou, values: () => ['@me', ...distinct((r) => r.user)()] },
  { name: 'project', about: T.$itsProject, values: () => [...new Set([...projectNames.value, ...distinct((r) => r.project)()])].sort() },
  { name: 'kind', about: 'training, distributed, workspace …', values: distinct((r) => r.kind) },
  { name: 'age', about: T.$submittedWithinThisTime },
  { name: 'ended', about: T.$endedWithinThisTimeSuchAs },
  { name: 'gpu', about: T.$itsGPUType, values: distinct((r) => r.gpuType ?? '') },
  { name: 'node', about: T.$nodeItRunsOn, values: () => [...new Set(allRows().flatMap((r) => r.nodes ?? []))].sort() },
  { name: 'reason', about: T.$reasonOfItsState, values: distinct((r) => r.reason ?? '') },
  { name: 'is', about: 'preemptible, degraded, idle', values: () => ['preemptible', 'degraded', 'idle'] },
]

const none: Row[] = []
const deletedMost = 1000 // that are shown, the newest

/** What was deleted, while a filter asks for it: lists leave it out otherwise. */
function useDeleted(filter: string): RowList | null {
  const { data } = useLive<RowList>(asksDeleted(filter) ? 'v1/projects/-/rows' + params({ phase: 'Deleted', deleted: true, limit: deletedMost }) : null)
  return data
}

/** The rows of a filter in the order of a column. */
function useRows(filter: string, sort: Sort | null, deleted: Row[]): Row[] {
  const version = rowsVersion.value
  const me = session.value?.user ?? ''
  const words = dialect.value
  const waiting = waits.value
  const hours = sort?.by === 'hours' ? charged.value : null
  return useMemo(() => {
    const test = compile(filter, { me, now: present(), waits: waiting })
    const gone = new Set(deleted.map((r) => r.id))
    const rows = [...allRows().filter((r) => !gone.has(r.id)), ...deleted].filter(test)
    const by = sort && columns.find((c) => c.id === sort.by)?.sort
    const newest = (a: Row, b: Row): number => b.number - a.number
    if (!by) return rows.sort(newest)
    return rows.sort((a, b) => (sort.down ? -by(a, b) : by(a, b)) || newest(a, b))
  }, [version, filter, sort?.by, sort?.down, me, words, waiting, hours, deleted])
}

/** Reads what was charged since the oldest of these came, all with one call, as long as it is shown. */
function useCharged(rows: Row[], wanted: boolean): void {
  const oldest = wanted ? rows.reduce((t, r) => (r.createdAt < t ? r.createdAt : t), '9').slice(0, 10) : ''
  const { data } = useLive<UsageList>(wanted && loading.value === 'done' && rows.length > 0 ? 'v1/usage' + params({ by: 'workload', from: oldest + 'T00:00:00Z' }) : null, 'beat', 30_000)
  useEffect(() => {
    if (data) charged.value = new Map(data.items.map((u) => [u.id ?? '', u.gpuSeconds]))
  }, [data])
}

const hour = 3600_000
const near = signal<[number, number]>([0, 0]) // which rows are seen, or nearly
const looked = signal('') // ids of those of them whose GPUs did something in the last hour

/** Reads how busy the GPUs of rows that are seen were in the last hour, all with one call. */
function useBusy(rows: Row[], wanted: boolean): void {
  const ids = wanted ? rows.slice(...near.value).filter((r) => r.gpus > 0 && r.startedAt && !(ms(r.endedAt) < present() - hour)).map((r) => r.id).join() : ''
  useEffect(() => { looked.value = ids }, [ids])
  const { data } = useReading<Metrics>(ids ? T.$utilizationLower : null, (signal) => get('v1/metrics' + params({ step: '1m', workload: looked.peek() }), signal), () => `${lastHeard.value} ${looked.value}`)
  useEffect(() => {
    if (data) busy.value = new Map(data.series.map((s) => [s.id ?? '', s]))
  }, [data])
}

const sortOf = (text: string | null): Sort | null => (text ? { by: text.replace(/^-/, ''), down: text.startsWith('-') } : null)

function Workloads({ query }: ScreenProps) {
  const filter = query.get('q') ?? ''
  const sort = sortOf(query.get('sort'))
  const deleted = useDeleted(filter)
  const rows = useRows(filter, sort, deleted?.items ?? none)
  const set = (q: string): void => setQuery({ q })
  const version = rowsVersion.value
  const wrong = useMemo(() => trouble(filter, allRows().flatMap((r) => [r.phase, r.words[dialect.value] ?? r.phase])), [filter, version, dialect.value])
  const ids = query.get('columns')?.split(',') ?? shown.value
  const columnsNow = columns.filter((c) => c.id === 'name' || ids.includes(c.id))
  const toggle = (id: string): void => {
    const next = columns.filter((c) => (c.id === id) !== columnsNow.includes(c)).map((c) => c.id)
    if (query.has('columns')) setQuery({ columns: next.join() })
    else shown.value = next
  }
  const same = useMemo(() => new Set(columns.filter((c) => telling.has(c.id) && rows.every((r) => c.text(r) === c.text(rows[0]!))).map((c) => c.id)), [rows])
  useBusy(rows, columnsNow.some((c) => c.id === 'use'))
  useFirstErrors(rows.slice(...near.value))
  useCharged(rows, columnsNow.some((c) => c.id === 'hours'))
  const picked = rows.filter((r) => chosen.value.has(r.id))
  useEffect(() => {
    inHand.value = picked
    return () => (inHand.value = none)
  }, [picked.length, rows])
  useKeys(() => [{ keys: 'escape', does: T.$clearSelection, run: () => (chosen.value = new Set()) }])
  const first = loading.value === 'first'
  return (
    <Page title={T.$workloads} fill sub={<Total rows={rows.length} filtered={filter !== ''} deleted={deleted} />} actions={<>
      <Link class="button main" to="submit"><Icon name="upload" /><span>{T.$submit}</span></Link>
      <CopyAs of={() => ({
        cli: `muster get --all ${filter && `--filter ${shell(filter)} `}--limit 0`,
        python: python(`for w in client.workloads(${filter && 'filter=' + JSON.stringify(filter)}).all():`, '    print(w.name, w.phase)'),
        curl: curl('v1/projects/-/workloads' + params({ filter, view: 'summary' })),
      })} />
    </>}>
      <div class="toolbar">
        <FilterBar value={filter} onChange={set} fields={fields} placeholder={T.$filterByTextStatusFailed} />
        <Presets filter={filter} set={set} />
        <div class="toolbar-end">
          <Views query={query} ids={columnsNow.map((c) => c.id)} />
          <Menu icon="columns" label={T.$columns} stays items={columns.filter((c) => c.id !== 'name').map((c) => ({
            label: c.title, checked: columnsNow.includes(c), note: !columnsNow.includes(c) ? undefined : same.has(c.id) ? T.$sameForAllRows : fitting.value.split(',').includes(c.id) ? undefined : T.$noRoom,
            run: () => toggle(c.id),
          }))} />
          <Menu icon="download" label={T.$download} items={[
            { label: phrase(T.$csvRows, { rows: plural(rows.length, T.$nRows) }), run: () => saveText('workloads.csv', 'text/csv', csv([columnsNow.map((c) => c.title.toLowerCase()), ...rows.map((r) => columnsNow.map((c) => c.text(r)))])) },
            { label: phrase(T.$jsonRows, { rows: plural(rows.length, T.$nRows) }), run: () => saveText('workloads.json', 'application/json', JSON.stringify(rows, null, 2) + '\n') },
          ]} />
        </div>
      </div>
      {wrong && !first && <p class="filter-trouble" role="status"><Icon name="warning" size={14} />{wrong}</p>}
      {loadError.value && first ? <Failure error={loadError.value} /> : first ? <Loading what={T.$loadingWorkloads} rows={12} /> : (
        <Table label={T.$workloads} columns={columnsNow.filter((c) => !same.has(c.id))} onFit={(ids) => (fitting.value = ids)} onNear={(from, to) => (near.value = [from, to])} rows={rows} keyOf={(r) => r.id} open={(r) => go(pathOf(r))}
          sort={sort} onSort={(s) => setQuery({ sort: (s.down ? '-' : '') + s.by })}
          chosen={chosen.value} onChoose={(k) => (chosen.value = k)}
          empty={filter
            ? <Empty icon="search" title={T.$noWorkloadMatchesTheFilter}><Button onClick={() => set('')}>{T.$clearFilter}</Button></Empty>
            : <Empty icon="upload" title={T.$noWorkloadsYet}><p>{T.$submitTheFirstOne}</p><Link class="button main" to="submit"><span>{T.$submit}</span></Link><pre class="code"><code>muster run --gpus 1 -- python3 train.py</code></pre></Empty>} />
      )}
      {picked.length > 0 && <Bulk rows={picked} />}
    </Page>
  )
}

function Total({ rows, filtered, deleted }: { rows: number; filtered: boolean; deleted: RowList | null }) {
  const more = loading.value === 'more' ? T.$loadingMore : olderLeft.value ? phrase(T.$olderOnesNotShownLive, { n: count(live.value) }) : deleted?.next ? T.$olderOnesNotShown : ''
  if (loading.value === 'first') return null
  return <>{filtered ? phrase(T.$usedOfTotal, { used: count(rows), total: plural(allRows().length + (deleted?.items.length ?? 0), T.$nWorkloads) }) : plural(rows, T.$nWorkloads)}{more}</>
}

function Presets({ filter, set }: { filter: string; set: (q: string) => void }) {
  const mine = /(^|\s)user:@me(\s|$)/.test(filter)
  return (
    <div class="presets" role="group" aria-label={T.$commonFilters}>
      <button type="button" aria-pressed={mine} onClick={() => set(withTerm(filter, 'user', mine ? [] : ['@me']))}>{T.$mine}</button>
      {presets.map((p) => {
        const on = split(filter).filter((t) => ofPreset.test(t)).join(' ') === p.term
        return <button key={p.term} type="button" aria-pressed={on} onClick={() => set([...(on ? [] : [p.term]), ...split(filter).filter((t) => !ofPreset.test(t))].join(' '))}>{p.label}</button>
      })}
    </div>
  )
}

/** The list as it is shown, as what follows the "?" of its address. */
function asLink(query: URLSearchParams, ids: string[]): string {
  const q = new URLSearchParams(query)
  q.set('columns', ids.join())
  return readable(q)
}

function Views({ query, ids }: { query: URLSearchParams; ids: string[] }) {
  const here = asLink(query, ids)
  const known = views.value.find((v) => v.query === here)
  return (
    <Menu icon="bookmark" label={T.$views} items={[
      ...(views.value.length ? [{ head: true, label: T.$savedViews }] : []),
      ...views.value.map((v) => ({ label: v.name, checked: v === known, run: () => go('workloads?' + v.query) })),
      known
        ? { label: phrase(T.$deleteName3, { name: known.name }), icon: 'trash' as const, run: () => { const before = views.value; views.value = before.filter((v) => v !== known); toast(phrase(T.$deletedName, { name: known.name }), { action: { label: T.$undo, run: () => (views.value = before) } }) } }
        : { label: T.$saveThisView, icon: 'bookmark' as const, run: () => later((l) => l.askFor({
          title: T.$saveThisView, yes: T.$save, text: T.$filterOrderAndColumnsIn, first: { name: query.get('q') ?? '' },
          inputs: () => [{ name: 'name', required: true }],
          act: async (v) => {
            const name = v.name!.trim()
            views.value = [...views.value.filter((x) => x.name !== name), { name, query: here }]
            toast(phrase(T.$savedName, { name }))
          },
        })) },
      { label: T.$copyLink, icon: 'link', run: () => void copy(location.origin + href('workloads?' + here), T.$copiedTheLink) },
    ]} />
  )
}

function Bulk({ rows }: { rows: Row[] }) {
  const busy = useRef(false)
  const no = (a: { id: string }): string | undefined => (fit(a, rows).length === 0 ? (rows.length === 1 ? refusal(a, rows[0]!) : phrase(T.$noneOfThemCanBe, { verb: verb(a.id) })) : undefined)
  const some = (a: { id: string; label: string }): string => {
    const n = fit(a, rows).length
    return a.label + (n > 0 && n < rows.length ? ' ' + n : '')
  }
  const act = async (a: Act): Promise<void> => {
    if (busy.current) return
    busy.current = true
    if (await perform(a, rows)) chosen.value = new Set()
    busy.current = false
  }
  return (
    <div class="bulk" role="region" aria-label={T.$selectedWorkloads}>
      <span class="bulk-count">{phrase(T.$workloadsSelected, { workloads: plural(rows.length, T.$nWorkloads) })}</span>
      {[acts.stop, acts.restart, acts.delete].map((a: Act) => <Button key={a.id} icon={a.icon} kind={a.danger ? 'danger' : 'plain'} refused={no(a)} onClick={() => void act(a)}>{some(a)}</Button>)}
      <Menu icon="more" label={T.$moreActionsForTheSelection} items={[
        { label: some({ id: 'change', label: T.$priorityAndLimits }), icon: 'gear', refused: no({ id: 'change' }), run: () => later((l) => l.changeForm(fit({ id: 'change' }, rows))) },
        ...seldom.map((a) => ({ label: some(a), icon: a.icon, refused: no(a), run: () => void act(a) })),
      ]} />
      <Button icon="columns" refused={rows.length > 1 ? undefined : T.$selectTwoOrMoreToCompare} onClick={() => {
        const [a, b] = [...rows].sort((x, y) => x.number - y.number) as [Row, Row]
        if (rows.length > 2) go('compare?of=' + rows.map((r) => r.id).join())
        else go(workloadPath(a.project, a.name, `diff&with=${encodeURIComponent(b.project)}/${encodeURIComponent(b.name)}`))
      }}>{T.$compare2}</Button>
      <CopyAs of={() => said(acts.stop, rows)} />
      <Button kind="quiet" icon="close" aria-label={T.$clearSelection} onClick={() => (chosen.value = new Set())} />
    </div>
  )
}

export default {
  path: 'workloads',
  title: () => T.$workloads,
  view: Workloads,
  nav: { label: T.$workloads, icon: 'list', order: 20, key: 'w' },
} satisfies Screen
