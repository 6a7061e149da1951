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
import { Button, Empty, Failure, Loading, Page } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { FilterBar, type Field } from '../../ui/filterbar'
import { Icon } from '../../ui/icons'
import { copy, Menu, toast } from '../../ui/overlay'
import { Table, type Sort } from '../../ui/table'
import { acts, fit, perform, python, refusal, said, seldom, verb, type Act } from '../../work/acts'
import { asksDeleted, compile, groups, trouble } from '../../work/filter'
import { busy, charged, columns, pathOf, telling } from './columns'

/** A list as somebody wants to see it again; query is what follows the "?". */
interface View { name: string; query: string }

const isViews = (v: unknown): v is View[] => Array.isArray(v) && v.every((x) => typeof x?.name === 'string' && typeof x?.query === 'string')

const shown = remembered<string[]>('workloads.columns', columns.filter((c) => !c.optional).map((c) => c.id), texts)
const views = remembered<View[]>('workloads.saved', [], isViews)
const chosen = signal<ReadonlySet<string>>(new Set())
const fitting = signal('') // ids of the columns that there is room for

const presets: { label: string; term: string }[] = [
  { label: 'Active', term: 'status:active' },
  { label: 'Running', term: 'status:running' },
  { label: 'Waiting', term: 'status:waiting' },
  { label: 'Failed', term: 'status:bad' },
  { label: 'Failed 24 h', term: 'status:bad ended<1d' },
  { label: 'Idle GPUs', term: 'status:active is:idle' },
]
// One of them is chosen, and takes the place of another.
const ofPreset = /^(status:|ended[:<>]|is:idle$)/

const distinct = (f: (r: Row) => string) => (): string[] => [...new Set(allRows().map(f))].filter(Boolean).sort()

const fields: Field[] = [
  { name: 'status', about: 'Phase, or active, waiting, started, ended, bad', values: () => [...new Set([...Object.keys(groups), ...distinct((r) => (dialect.value === 'native' ? r.phase : (r.words[dialect.value] ?? r.phase)))(), ...(dialect.value === 'native' || spoken('Deleted') ? ['Deleted'] : [])])] },
  { name: 'user', about: 'Who submitted it; @me', values: () => ['@me', ...distinct((r) => r.user)()] },
  { name: 'project', about: 'Its project', values: () => [...new Set([...projectNames.value, ...distinct((r) => r.project)()])].sort() },
  { name: 'kind', about: 'training, distributed, workspace …', values: distinct((r) => r.kind) },
  { name: 'age', about: 'Submitted within, such as 2d' },
  { name: 'ended', about: 'Ended within, such as 1d' },
  { name: 'gpu', about: 'Type of its GPUs', values: distinct((r) => r.gpuType ?? '') },
  { name: 'node', about: 'Where it runs', values: () => [...new Set(allRows().flatMap((r) => r.nodes ?? []))].sort() },
  { name: 'reason', about: 'Token that explains its state', values: distinct((r) => r.reason ?? '') },
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
  const { data } = useReading<Metrics>(ids ? 'how busy' : null, (signal) => get('v1/metrics' + params({ step: '1m', workload: looked.peek() }), signal), () => `${lastHeard.value} ${looked.value}`)
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
  useCharged(rows, columnsNow.some((c) => c.id === 'hours'))
  const picked = rows.filter((r) => chosen.value.has(r.id))
  useKeys(() => [{ keys: 'escape', does: 'Choose none', run: () => (chosen.value = new Set()) }])
  const first = loading.value === 'first'
  return (
    <Page title="Workloads" fill sub={<Total rows={rows.length} filtered={filter !== ''} deleted={deleted} />} actions={<>
      <CopyAs of={() => ({
        cli: `muster get --all ${filter && `--filter ${shell(filter)} `}--limit 0`,
        python: python(`for w in client.workloads(${filter && 'filter=' + JSON.stringify(filter)}).all():`, '    print(w.name, w.phase)'),
        curl: curl('v1/projects/-/workloads' + params({ filter, view: 'summary' })),
      })} />
    </>}>
      <div class="toolbar">
        <FilterBar value={filter} onChange={set} fields={fields} placeholder="Filter by words, status:failed, user:@me, age<2d …" />
        <Presets filter={filter} set={set} />
        <div class="toolbar-end">
          <Views query={query} ids={columnsNow.map((c) => c.id)} />
          <Menu icon="columns" label="Columns" stays items={columns.filter((c) => c.id !== 'name').map((c) => ({
            label: c.title, checked: columnsNow.includes(c), note: !columnsNow.includes(c) ? undefined : same.has(c.id) ? 'all the same' : fitting.value.split(',').includes(c.id) ? undefined : 'no room',
            run: () => toggle(c.id),
          }))} />
          <Menu icon="download" label="Download" items={[
            { label: `CSV, ${plural(rows.length, 'row')}`, run: () => saveText('workloads.csv', 'text/csv', csv([columnsNow.map((c) => c.title.toLowerCase()), ...rows.map((r) => columnsNow.map((c) => c.text(r)))])) },
            { label: `JSON, ${plural(rows.length, 'row')}`, run: () => saveText('workloads.json', 'application/json', JSON.stringify(rows, null, 2) + '\n') },
          ]} />
        </div>
      </div>
      {wrong && !first && <p class="filter-trouble" role="status"><Icon name="warning" size={14} />{wrong}</p>}
      {loadError.value && first ? <Failure error={loadError.value} /> : first ? <Loading what="Loading workloads" rows={12} /> : (
        <Table label="Workloads" columns={columnsNow.filter((c) => !same.has(c.id))} onFit={(ids) => (fitting.value = ids)} onNear={(from, to) => (near.value = [from, to])} rows={rows} keyOf={(r) => r.id} open={(r) => go(pathOf(r))}
          sort={sort} onSort={(s) => setQuery({ sort: (s.down ? '-' : '') + s.by })}
          chosen={chosen.value} onChoose={(k) => (chosen.value = k)}
          empty={filter
            ? <Empty icon="search" title="No workload fits the filter"><Button onClick={() => set('')}>Clear the filter</Button></Empty>
            : <Empty icon="upload" title="No workloads yet"><p>Submit the first one:</p><pre class="code"><code>muster run --gpus 1 -- python3 train.py</code></pre></Empty>} />
      )}
      {picked.length > 0 && <Bulk rows={picked} />}
    </Page>
  )
}

function Total({ rows, filtered, deleted }: { rows: number; filtered: boolean; deleted: RowList | null }) {
  const more = loading.value === 'more' ? ', loading more' : olderLeft.value || deleted?.next ? ', older ones not shown' : ''
  if (loading.value === 'first') return null
  return <>{filtered ? `${count(rows)} of ${plural(allRows().length + (deleted?.items.length ?? 0), 'workload')}` : plural(rows, 'workload')}{more}</>
}

function Presets({ filter, set }: { filter: string; set: (q: string) => void }) {
  const mine = /(^|\s)user:@me(\s|$)/.test(filter)
  return (
    <div class="presets" role="group" aria-label="Usual filters">
      <button type="button" aria-pressed={mine} onClick={() => set(withTerm(filter, 'user', mine ? [] : ['@me']))}>Mine</button>
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
    <Menu icon="bookmark" label="Views" items={[
      ...(views.value.length ? [{ head: true, label: 'Saved views' }] : []),
      ...views.value.map((v) => ({ label: v.name, checked: v === known, run: () => go('workloads?' + v.query) })),
      known
        ? { label: `Forget “${known.name}”`, icon: 'trash' as const, run: () => (views.value = views.value.filter((v) => v !== known)) }
        : { label: 'Save this view', icon: 'bookmark' as const, run: () => later((l) => l.askFor({
          title: 'Save this view', yes: 'Save', text: 'Filter, order and columns, in this browser. A link gives them to others.', first: { name: query.get('q') ?? '' },
          inputs: () => [{ name: 'name', required: true }],
          act: async (v) => {
            const name = v.name!.trim()
            views.value = [...views.value.filter((x) => x.name !== name), { name, query: here }]
            toast(`Saved ${name}`)
          },
        })) },
      { label: 'Copy link', icon: 'link', run: () => void copy(location.origin + href('workloads?' + here), 'Copied the link') },
    ]} />
  )
}

function Bulk({ rows }: { rows: Row[] }) {
  const busy = useRef(false)
  const no = (a: { id: string }): string | undefined => (fit(a, rows).length === 0 ? (rows.length === 1 ? refusal(a, rows[0]!) : `None of them can be ${verb(a.id)}`) : undefined)
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
    <div class="bulk" role="region" aria-label="Chosen workloads">
      <span class="bulk-count">{plural(rows.length, 'workload')} chosen</span>
      {[acts.stop, acts.restart, acts.delete].map((a: Act) => <Button key={a.id} icon={a.icon} kind={a.danger ? 'danger' : 'plain'} refused={no(a)} onClick={() => void act(a)}>{some(a)}</Button>)}
      <Menu icon="more" label="More for those that are chosen" items={[
        { label: some({ id: 'change', label: 'Priority and limits' }), icon: 'gear', refused: no({ id: 'change' }), run: () => later((l) => l.changeForm(fit({ id: 'change' }, rows))) },
        ...seldom.map((a) => ({ label: some(a), icon: a.icon, refused: no(a), run: () => void act(a) })),
      ]} />
      <Button icon="columns" refused={rows.length === 2 ? undefined : 'Two are compared: choose two'} onClick={() => {
        const [a, b] = [...rows].sort((x, y) => x.number - y.number) as [Row, Row]
        go(workloadPath(a.project, a.name, `diff&with=${encodeURIComponent(b.project)}/${encodeURIComponent(b.name)}`))
      }}>Compare</Button>
      <CopyAs of={() => said(acts.stop, rows)} />
      <Button kind="quiet" icon="close" aria-label="Choose none" onClick={() => (chosen.value = new Set())} />
    </div>
  )
}

export default {
  path: 'workloads',
  title: () => 'Workloads',
  view: Workloads,
  nav: { label: 'Workloads', icon: 'list', order: 20, key: 'w' },
} satisfies Screen
