import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { apiURL, get, params, workloadURL } from '../../../api/client'
import type { TaskPage, Workload } from '../../../api/types'
import { count, ms } from '../../../lib/format'
import { useKeys } from '../../../lib/keys'
import { remembered } from '../../../lib/prefs'
import { place, setQuery } from '../../../lib/router'
import { streamState } from '../../../live/stream'
import { Button, Empty, Failure, Keys, Loading } from '../../../ui/basics'
import { Icon } from '../../../ui/icons'
import { complain, copy, toast } from '../../../ui/overlay'
import { named } from '../../../work/acts'
import { finder } from './buffer'
import { download } from './download'
import { Folder, type Shown } from './fold'
import { Merged } from './merged'
import { useSearch } from './search'
import { Source, type LogSource } from './source'
import { LogView } from './view'
import { phrase, T } from '../../../texts'

const isFlag = (v: unknown): v is boolean => typeof v === 'boolean'
const times = remembered('logs.times', false, isFlag)
const wrap = remembered('logs.wrap', false, isFlag)
const fold = remembered('logs.fold', true, isFlag)

const alive = new Set(['pending', 'starting', 'running', 'stopping'])

/** The latest attempt that has had tasks, and the task that failed first, or the first. */
function usual(w: Workload): { attempt: number; task: number } {
  for (let i = w.attempts.length - 1; i >= 0; i--) {
    const a = w.attempts[i]!
    if (a.startedAt) return { attempt: a.index, task: a.culprit ?? a.tasks[0]?.index ?? 0 }
  }
  return { attempt: Math.max(0, w.attempts.length - 1), task: 0 }
}

const number = (text: string | null, otherwise: number): number => (text !== null && /^\d+$/.test(text) ? Number(text) : otherwise)

export function Logs({ w, query }: { w: Workload; query: URLSearchParams }) {
  const of = usual(w)
  const attempt = number(query.get('attempt'), of.attempt)
  const tasks = w.attempts.find((a) => a.index === attempt)?.tasks ?? []
  const task = number(query.get('task'), attempt === of.attempt ? of.task : (tasks[0]?.index ?? 0))
  const total = tasks.length + (w.attempts.find((a) => a.index === attempt)?.tasksLeft ?? 0)
  const marked = number(query.get('at'), -1)
  const line = number(query.get('line'), 0)
  const begun = !!w.attempts.find((a) => a.index === attempt)?.startedAt
  const latest = useRef(w)
  latest.current = w
  const together = query.get('task') === 'all'
  const build = query.get('task') === 'build'
  const when = query.get('when') ?? ''
  const source = useMemo((): LogSource => {
    const from = { project: w.project, name: w.name, attempt, task }
    if (build) return new Source({ ...from, part: 'build' }, () => latest.current.phase === 'Building')
    if (together) return new Merged(from, () => !latest.current.endedAt && latest.current.attempt === attempt)
    return new Source(from, async () => {
      const v = latest.current
      if (v.endedAt) return false
      const of = v.attempts.find((a) => a.index === attempt)
      let t = of?.tasks.find((x) => x.index === task)
      if (!t && of?.tasksLeft) t = (await get<TaskPage>(workloadURL(v.project, v.name) + '/tasks' + params({ attempt: String(attempt), cursor: task, limit: 1 }))).items.find((x) => x.index === task)
      return !t || alive.has(t.state)
    }, begun)
  }, [w.id, attempt, task, begun, together, build])
  const [follow, setFollow] = useState(marked < 0 && line === 0 && !when)
  const [text, setText] = useState('')
  const [hit, setHit] = useState(-1)
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set())
  const field = useRef<HTMLInputElement>(null)
  const frame = useRef<HTMLDivElement>(null)
  const [jumped, setJumped] = useState(0)
  useEffect(() => {
    const somewhere = jumped === 0 && (marked >= 0 || line > 0 || when !== '')
    setFollow(!somewhere)
    if (somewhere) void source.around(marked >= 0 ? { key: marked, when } : line > 0 ? { line } : { when })
    else void source.follow()
    return () => source.close()
  }, [source, jumped])
  const log = source.state.value
  const what = useMemo(() => finder(text), [text])
  const found = useSearch({ project: w.project, name: w.name, attempt, task, ...(build ? { part: 'build' } : {}) }, together ? null : task, text, log.lines, what)
  const foundAt = found.hits.findIndex((h) => h.key === hit)
  const look = (i: number): void => {
    const h = found.hits[i]
    if (!h) return
    setHit(h.key)
    setFollow(false)
    if (!log.lines.some((l) => l.offset === h.key)) void source.around({ key: h.key, when: h.at })
  }
  const turn = (by: number): void => {
    const n = found.hits.length
    if (n > 0) look(foundAt < 0 ? n - 1 : (foundAt + by + n) % n)
  }
  useEffect(() => setHit(-1), [text, source])
  const any = found.hits.length > 0
  useEffect(() => {
    if (hit < 0 && any) look(found.hits.length - 1) // the latest is looked at first
  }, [any, hit < 0])
  // What a line of a link is: where it began when it was counted.
  const since = ms(when)
  const at = marked >= 0 ? marked : line > 0 ? (log.lines[line - 1]?.offset ?? -1) : when ? (log.lines.find((l) => ms(l.at) >= since)?.offset ?? log.lines[log.lines.length - 1]?.offset ?? -1) : -1
  const folder = useMemo(() => new Folder(), [source])
  const rows = folder.rowsOf(log.lines, !fold.value, [at, hit].filter((k) => k >= 0), opened)
  useKeys(() => [
    { keys: '/', does: T.$searchTheLog, run: () => { field.current?.focus(); field.current?.select() } },
    { keys: 'n', does: T.$nextMatch, run: () => turn(1) },
    { keys: 'N', does: T.$previousMatch, run: () => turn(-1) },
    { keys: 'w', does: T.$wrapLines, run: () => (wrap.value = !wrap.value) },
    { keys: 'o', does: T.$foldRepeatedLines, run: () => (fold.value = !fold.value) },
    { keys: 'f', does: T.$followTheEnd, run: () => end() },
    { keys: 'b', does: T.$jumpToStart, run: () => begin() },
  ])
  const end = (): void => {
    if (log.state === 'part') setJumped(jumped + 1)
    setFollow(true)
  }
  const begin = (): void => {
    setFollow(false)
    if (log.first === 0) frame.current?.querySelector('.log')?.scrollTo({ top: 0 })
    else void source.around(together ? { when: w.createdAt } : { line: 0 })
  }
  const raw = apiURL(workloadURL(w.project, w.name) + '/logs' + params(build ? { part: 'build' } : { attempt: String(attempt), task: String(task) }))
  const which = together ? 'all' : build ? 'build' : String(task)
  return (
    <div class="logs">
      <div class="toolbar">
        {w.attempts.length > 1 && <label class="pick">{phrase(T.$attemptIndex, { index: <select value={attempt} onChange={(e) => setQuery({ attempt: e.currentTarget.value, task: together || build ? which : null, at: null, line: null, when: null })}>{w.attempts.map((a) => <option key={a.index} value={a.index}>{a.index}</option>)}</select> })}</label>}
        {(total > 1 || built(w)) && <TaskChoice tasks={tasks} total={total} which={which} task={task} built={built(w)} />}
        <div class="filter log-search" role="search">
          <Icon name="search" />
          <input ref={field} type="text" value={text} placeholder={T.$searchTheWholeLogRegular} aria-label={T.$searchTheLog} aria-invalid={text !== '' && (!what || found.error !== '')} title={found.error || undefined} spellcheck={false}
            onInput={(e) => setText(e.currentTarget.value)}
            onKeyDown={(e) => {
              if (e.key === 'Enter') turn(e.shiftKey ? -1 : 1)
              else if (e.key === 'Escape') { setText(''); e.currentTarget.blur() } else return
              e.preventDefault()
            }} />
          {text ? <span class="found" role="status">{!what || found.error ? T.$invalidExpression : any ? phrase(T.$moreOfHitsMore2, { more: foundAt < 0 ? '–' : count(foundAt + 1), hits: count(found.hits.length), more2: found.full ? '+' : '' }) : found.done ? T.$none2 : ''}{!found.done && ` ${Math.floor(found.part * 100)} %`}</span> : <Keys of="/" />}
        </div>
        <div class="toolbar-end">
          <Button icon="top" aria-label={T.$jumpToStart} onClick={begin} />
          <Button icon="list" aria-label={T.$foldRepeatedLines} aria-pressed={fold.value} onClick={() => (fold.value = !fold.value)} />
          <Button icon="clock" aria-label={T.$timestamps} aria-pressed={times.value} onClick={() => (times.value = !times.value)} />
          <Button icon="wrap" aria-label={T.$wrapLines} aria-pressed={wrap.value} onClick={() => (wrap.value = !wrap.value)} />
          {together ? <Together w={w} attempt={attempt} /> : <a class="button plain square" href={raw} download={`${w.name}-${build ? 'build' : `${attempt}-${task}`}.log`} aria-label={T.$download} title={T.$download}><Icon name="download" /></a>}
        </div>
      </div>
      {log.state === 'error' && log.error ? (log.error.code === 'no_logs' ? <Empty icon="clock" title={build ? T.$noImageWasBuilt : T.$noOutputYet}>{!build && <p>{T.$theTaskHasNotStartedThe}</p>}</Empty> : <Failure error={log.error} />)
        : log.state === 'loading' ? <Loading what={T.$loadingTheLog} rows={10} />
          : log.lines.length === 0 && !log.open ? <Empty icon="list" title={log.state === 'ended' ? T.$noOutput : T.$noOutputYet}>{log.state === 'following' && <p>{T.$newLinesAppearHereAsThey}</p>}</Empty>
            : (
              <div class="log-frame" ref={frame}>
                <LogView log={log} times={times.value} wrap={wrap.value} find={what} lines={rows} several={together} hit={hit} marked={at} open={(offset) => setOpened((have) => new Set([...have, offset]))} before={() => source.before()} after={() => void source.after()} follow={follow} setFollow={setFollow}
                  link={(l: Shown) => {
                    setQuery({ attempt: String(attempt), task: which, at: String(l.offset), when: together ? l.at : null, line: null })
                    void copy(location.origin + location.pathname + '?' + place.peek().query, T.$copiedTheLinkToTheLine)
                  }} />
                {!follow && log.state !== 'ended' && <Button class="to-end" icon="bottom" onClick={end}>{log.state === 'part' ? T.$jumpToEnd : T.$follow}</Button>}
                <LogFoot n={log.lines.length} first={log.first} state={log.state} />
              </div>
            )}
    </div>
  )
}

function LogFoot({ n, first, state }: { n: number; first: number; state: string }) {
  const said = { following: streamState.value === 'stale' ? T.$disconnectedLower : T.$live, ended: T.$endedLower, part: T.$partOfTheLog }[state] ?? ''
  return <div class="log-foot"><span>{phrase(T.$nLinesMore, { n: count(n), more: first > 0 ? T.$earlierOnesAbove : '' })}</span><span>{said}</span></div>
}

/** Saves all tasks' output, which takes a while. */
function Together({ w, attempt }: { w: Workload; attempt: number }) {
  const [busy, setBusy] = useState(false)
  const abort = useRef(new AbortController())
  useEffect(() => () => abort.current.abort(), [])
  const save = async (): Promise<void> => {
    setBusy(true)
    try {
      if (!(await download(w, attempt, abort.current.signal))) toast(phrase(T.$theLogIsTooLargeForOneFile, { named: named(w) }), { bad: true })
    } catch (e) {
      if (!abort.current.signal.aborted) complain(e, T.$couldNotSave)
    }
    setBusy(false)
  }
  return <Button icon="download" aria-label={T.$download} aria-busy={busy} refused={busy ? T.$downloading : undefined} onClick={() => void save()} />
}

/** Whether an image was built for it, which has a log. */
const built = (w: Workload): boolean => !!(w.spec as { build?: unknown } | undefined)?.build

function TaskChoice({ tasks, total, which, task, built }: { tasks: Workload['attempts'][number]['tasks']; total: number; which: string; task: number; built: boolean }) {
  const go = (v: string): void => setQuery({ task: v, at: null, line: null, when: null })
  const all = total > 256 ? T.$first256Merged : T.$allMerged
  if (total > 500) {
    return (
      <>
        <label class="pick">{phrase(T.$taskChoice, { choice: <input type="number" min={0} max={total - 1} value={which === String(task) ? task : ''} placeholder={which} onChange={(e) => e.currentTarget.value && go(e.currentTarget.value)} /> })}</label>
        {[['all', all], ...(built ? [['build', T.$build]] : [])].map(([id, name]) => <Button key={id} aria-pressed={which === id} onClick={() => go(which === id ? String(task) : id!)}>{name}</Button>)}
      </>
    )
  }
  return (
    <label class="pick">{phrase(T.$taskChoice, { choice: <select value={which} onChange={(e) => go(e.currentTarget.value)}>
      {total > 1 && <option value="all">{all}</option>}
      {built && <option value="build">{T.$imageBuild}</option>}
      {tasks.map((t) => <option key={t.index} value={t.index}>{t.role} {t.index}{t.state === 'failed' ? T.$failed2 : ''}</option>)}
    </select> })}</label>
  )
}
