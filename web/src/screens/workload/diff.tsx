// What differs between two attempts, of one workload or of two: the document that
// each began with, where it ran, for how long, and how it ended.
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Attempt, Field, Workload } from '../../api/types'
import { now } from '../../lib/clock'
import { gpus, ms, plural, shell, span } from '../../lib/format'
import { setQuery, workloadPath } from '../../lib/router'
import { Button, Card, Empty, Failure, Link, Loading } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { workloadURL } from '../../api/client'
import { pyNamed, python } from '../../work/acts'
import { expand, isMap } from '../submit/doc'
import { loadSchema, schema, schemaError } from '../submit/state'
import { useWorkload } from './load'
import { phrase, T } from '../../texts'

type Fields = Map<string, unknown>

/** The values of a document under their paths, as muster diff has them. */
function leaves(v: unknown, f: Field | undefined, path: string, into: Fields): Fields {
  const x = f && !Array.isArray(v) ? expand(v, f) : v
  const open = isMap(x) && (path === '' || f?.fields || f?.type.startsWith('map'))
  if (!open) return into.set(path, v)
  for (const [k, y] of Object.entries(x)) {
    if (y === null || y === undefined) continue
    const below = path && path + '.'
    if (path === '' || f?.fields) leaves(y, f?.fields?.find((c) => c.name === k), below + k, into)
    else into.set(below + k, y)
  }
  return into
}

/** The document that an attempt began with: the present one, less what was changed since. */
export function fieldsOf(w: Workload, attempt: number, root: Field): Fields {
  const out = leaves(w.spec ?? {}, root, '', new Map())
  for (const a of [...w.attempts].reverse()) {
    if (a.index < attempt) break
    for (const c of a.revised ?? []) {
      if (c.from === undefined || c.from === null) out.delete(c.path)
      else out.set(c.path, c.from)
    }
  }
  return out
}

const text = (v: unknown): string => (v === undefined || v === null ? '–' : typeof v === 'string' ? v || '""' : Array.isArray(v) && v.every((x) => typeof x === 'string') ? v.join(' ') : JSON.stringify(v))

interface Fact { name: string; of: (a: Attempt) => string }

const sorted = (all: (string | undefined)[]): string => [...new Set(all.filter((x): x is string => !!x))].sort().join(', ') || '–'

/** What became of an attempt, always the same in the same order. */
const facts: Fact[] = [
  { name: T.$result, of: (a) => (a.endedAt ? a.reason || (a.exitCode === 0 || a.exitCode === undefined ? 'Completed' : 'Failed') : T.$stillRunning) },
  { name: T.$message2, of: (a) => a.message || '–' },
  { name: T.$exitCode, of: (a) => String(a.exitCode ?? '–') },
  { name: T.$failedFirst, of: (a) => (a.culprit !== undefined ? phrase(T.$taskCulprit, { culprit: a.culprit }) : '–') },
  { name: T.$nodes, of: (a) => sorted(a.tasks.map((t) => t.node)) },
  { name: T.$gpus, of: (a) => sorted(a.tasks.flatMap((t) => (t.devices ?? []).map((d) => `${t.node}/${d}`))) },
  { name: T.$imageDigest, of: (a) => sorted(a.tasks.map((t) => t.imageDigest)) },
  { name: T.$tasks, of: (a) => String(a.tasks.length) },
  { name: T.$lastStep, of: (a) => (a.step ? String(a.step) : '–') },
  { name: T.$checkpoint, of: (a) => (a.saved ? (a.saved.step ? phrase(T.$stepStep, { step: a.saved.step }) : T.$yes) : '–') },
  { name: T.$lostWork, of: (a) => (a.lost && a.lost.seconds > 0 ? `${span(a.lost.seconds * 1000)}${a.lost.gpuSeconds ? phrase(T.$gpuSecondsGPUHours, { gpuSeconds: gpus(Math.round(a.lost.gpuSeconds / 36) / 100) }) : ''}${a.lost.steps ? `, ${plural(a.lost.steps, T.$nSteps)}` : ''}` : '–') },
]

/** How long an attempt took in each part of its life. */
export function phasesOf(w: Workload, a: Attempt, present: number): [string, string, number][] {
  const end = a.endedAt ? ms(a.endedAt) : w.endedAt ? ms(w.endedAt) : present
  const until = (...ts: (string | undefined)[]): number => ts.map(ms).find((t) => !Number.isNaN(t)) ?? end
  const out: [string, string, number][] = []
  const add = (name: string, tone: string, from: string | undefined, to: number): void => {
    if (from) out.push([name, tone, Math.max(0, to - ms(from))])
  }
  add(T.$waited, 'queued', a.queuedAt ?? w.createdAt, until(a.startedAt))
  add(T.$started, 'starting', a.startedAt, until(a.runningAt))
  add(T.$ran, 'running', a.runningAt, end)
  return out
}

/** The attempts of a workload, or those of it and of another one: with is PROJECT/NAME. */
export function Diff({ w, query }: { w: Workload; query: URLSearchParams }) {
  const [project = '', name = ''] = (query.get('with') ?? '').split('/')
  const other = useWorkload(project, name)
  useEffect(() => void loadSchema(), [])
  if (name && other.error) return <Failure error={other.error} again={other.again} />
  if (schemaError.value) return <Failure error={schemaError.value} again={() => void loadSchema()} />
  if (!schema.value || (name && !other.data)) return <Loading />
  const v = name ? other.data! : w
  if (v === w && w.attempts.length < 2) return <Empty icon="columns" title={T.$onlyOneAttempt}><p>{T.$afterARetryAPreemptionOrA}</p></Empty>
  return <Sides w={w} v={v} query={query} root={schema.value} />
}

function Sides({ w, v, query, root }: { w: Workload; v: Workload; query: URLSearchParams; root: Field }) {
  const two = v !== w
  const pick = (of: Workload, name: string, back: number): Attempt => of.attempts.find((a) => String(a.index) === query.get(name)) ?? of.attempts[Math.max(0, of.attempts.length - back)]!
  const sides = [{ w, a: pick(w, 'a', two ? 1 : 2) }, { w: v, a: pick(v, 'b', 1) }] as const
  const [{ a }, { a: b }] = sides
  const whole = query.get('all') === 'yes'
  const docs = sides.map((s) => fieldsOf(s.w, s.a.index, root)) as [Fields, Fields]
  if (two) for (const d of docs) for (const k of ['name', 'namePrefix']) d.delete(k) // they are of course others
  const paths = [...new Set(docs.flatMap((d) => [...d.keys()]))].sort()
  const differs = (p: string): boolean => JSON.stringify(docs[0].get(p)) !== JSON.stringify(docs[1].get(p))
  const lines = paths.filter((p) => whole || differs(p)).sort((p, q) => Number(differs(q)) - Number(differs(p)))
  const shown = facts.filter((f) => whole || f.of(a) !== f.of(b))
  const lengths = sides.map((s) => phasesOf(s.w, s.a, now.value))
  const longest = Math.max(1, ...lengths.map((l) => l.reduce((n, p) => n + p[2], 0)))
  const title = (i: 0 | 1): string => (two ? sides[i].w.name + (sides[i].w.attempts.length > 1 ? T.$attempt : '') : T.$attempt2) + (two && sides[i].w.attempts.length < 2 ? '' : sides[i].a.index)
  const choose = (i: 0 | 1) => (
    <label class="pick">{two ? <Link to={workloadPath(sides[i].w.project, sides[i].w.name)}>{sides[i].w.name}</Link> : <span class="sr">{i === 0 ? T.$first : T.$second}</span>}
      {(!two || sides[i].w.attempts.length > 1) && <select aria-label={phrase(T.$attemptOfName, { name: sides[i].w.name })} value={sides[i].a.index} onChange={(e) => setQuery({ [i === 0 ? 'a' : 'b']: e.currentTarget.value })}>{sides[i].w.attempts.map((x) => <option key={x.index} value={x.index}>{phrase(T.$attemptIndex, { index: x.index })}</option>)}</select>}</label>
  )
  const near = w.project === v.project
  const said = sides.map((s) => shell(`${near ? s.w.name : s.w.id}@${s.a.index}`)).join(' ')
  return (
    <>
      <div class="toolbar">
        {choose(0)}<span class="muted">{T.$and}</span>{choose(1)}
        <label class="pick"><input type="checkbox" checked={whole} onChange={(e) => setQuery({ all: e.currentTarget.checked ? 'yes' : null })} />{T.$alsoShowWhatIsEqual}</label>
        {two && <Link class="button quiet" to={`compare?of=${w.id},${v.id}`}><span>{T.$compareWhatTheyReport}</span></Link>}
        {two && <Button kind="quiet" onClick={() => setQuery({ with: null, a: null, b: null })}>{phrase(T.$onlyName, { name: w.name })}</Button>}
        <div class="toolbar-end"><CopyAs of={() => ({
          cli: `muster diff ${said}${whole ? ' --all' : ''}${near && w.project !== 'default' ? ' --project ' + shell(w.project) : ''}`,
          python: python(...sides.map((s, i) => `${'ab'[i]} = client.workload(${pyNamed(s.w)}).attempts[${s.w.attempts.indexOf(s.a)}]`), 'print(a, b)'),
          curl: [...new Set(sides.map((s) => curl(workloadURL(s.w.project, s.w.name))))].join('\n'),
        })} /></div>
      </div>
      <Card title={T.$period}>
        <div class="diff-phases">
          {lengths.map((l, i) => (
            <div key={i}>
              <span class="clip">{title(i as 0 | 1)}</span>
              <span class="phase-bar" role="img" aria-label={`${title(i as 0 | 1)}: ` + l.map(([n, , t]) => `${n} ${span(t)}`).join(', ')}>
                {l.map(([n, tone, t]) => <span key={n} data-tone={tone} title={`${n} ${span(t)}`} style={{ width: (t / longest) * 100 + '%' }}>{t / longest > 0.12 ? `${n} ${span(t)}` : ''}</span>)}
              </span>
              <span>{span(l.reduce((n, p) => n + p[2], 0))}</span>
            </div>
          ))}
        </div>
      </Card>
      <Card>
        <div class="scroll-x" tabIndex={0} role="region" aria-label={T.$differences}>
          <table class="plain diff-table">
            <thead><tr><th scope="col">{T.$field}</th><th scope="col">{title(0)}</th><th scope="col">{title(1)}</th></tr></thead>
            <tbody>
              <tr><th class="diff-group" colSpan={3} scope="colgroup">{T.$document}</th></tr>
              {!paths.some(differs) && <tr><td colSpan={3}>{T.$bothStartedWithTheSame}</td></tr>}
              {lines.map((p) => <Line key={p} name={<code>{p}</code>} a={<code>{text(docs[0].get(p))}</code>} b={<code>{text(docs[1].get(p))}</code>} other={differs(p)} />)}
              <tr><th class="diff-group" colSpan={3} scope="colgroup">{T.$execution}</th></tr>
              {shown.map((f) => <Line key={f.name} name={f.name} a={f.of(a)} b={f.of(b)} other={f.of(a) !== f.of(b)} />)}
              {shown.length === 0 && <tr><td colSpan={3}>{T.$bothExecutionsAreEqual}</td></tr>}
            </tbody>
          </table>
        </div>
      </Card>
    </>
  )
}

function Line({ name, a, b, other = false }: { name: ComponentChildren; a: ComponentChildren; b: ComponentChildren; other?: boolean }) {
  return <tr data-other={other || undefined}><td>{name}</td><td>{a}</td><td>{b}</td></tr>
}
