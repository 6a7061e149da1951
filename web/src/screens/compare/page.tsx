// Any number of workloads side by side: what they were given, what they reported.
import { get, params, workloadURL } from '../../api/client'
import type { Reported, UsageList, Workload } from '../../api/types'
import { present } from '../../lib/clock'
import { ms, plural, span } from '../../lib/format'
import { workloadPath } from '../../lib/router'
import { useLive, useReading } from '../../live/fetch'
import { rowOf } from '../../live/store'
import type { ScreenProps } from '../../screen'
import { Empty, Failure, Link, Loading, Page } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { stateOf } from '../../ui/status'
import { python } from '../../work/acts'
import { hours } from '../../work/hours'
import { Trials } from '../../work/trials'
import type { Took, Trial } from '../../work/trialvalues'
import { T } from '../../texts'

const most = 100 // workloads, as the server has it

/** The values of a document under their paths. */
function flat(v: unknown, path: string, into: Record<string, unknown>): Record<string, unknown> {
  if (typeof v === 'object' && v !== null && !Array.isArray(v)) for (const [k, x] of Object.entries(v)) flat(x, path ? path + '.' + k : k, into)
  else into[path] = v
  return into
}

const own = new Set(['name', 'namePrefix', 'workdir']) // of course others, or of no matter

/** Values of documents by the shortest names that tell them apart: of each those in which not all are the same, and those in which they are. */
export function values(docs: Record<string, unknown>[]): { given: Record<string, unknown>; alike: Record<string, unknown> }[] {
  const paths = [...new Set(docs.flatMap((d) => Object.keys(d)))].filter((p) => !own.has(p)).sort()
  const differ = new Set(paths.filter((p) => new Set(docs.map((d) => JSON.stringify(d[p]))).size > 1))
  const last = (p: string): string => p.slice(p.lastIndexOf('.') + 1)
  const names = (of: string[]): Map<string, string> => new Map(of.map((p) => [p, of.filter((q) => last(q) === last(p)).length > 1 ? p : last(p)]))
  const part = (d: Record<string, unknown>, of: Map<string, string>): Record<string, unknown> => Object.fromEntries([...of].map(([p, name]) => [name, d[p]]))
  const [given, alike] = [names(paths.filter((p) => differ.has(p))), new Map(paths.filter((p) => !differ.has(p)).map((p) => [p, p]))]
  return docs.map((d) => ({ given: part(d, given), alike: part(d, alike) }))
}

/** What a workload took: seconds of its attempts together, GPU-hours, and what they cost where anything does. */
function took(w: Workload, at: number, charged: UsageList | null): Took[] {
  const seconds = w.attempts.reduce((n, a) => (a.startedAt ? n + ((a.endedAt ? ms(a.endedAt) : w.endedAt ? ms(w.endedAt) : at) - ms(a.runningAt ?? a.startedAt)) / 1000 : n), 0)
  const cost = charged?.items.find((u) => u.id === w.id)?.cost
  return [
    { id: 'seconds', title: T.$runTime, value: w.startedAt ? seconds : undefined, text: w.startedAt ? span(seconds * 1000) : '–' },
    { id: 'gpuHours', title: T.$gpuHours, value: w.gpuSeconds / 3600, text: hours(w.gpuSeconds) },
    ...(charged?.currency ? [{ id: 'cost', title: `${T.$cost} (${charged.currency})`, value: cost ?? 0, text: (cost ?? 0).toFixed(2) }] : []),
  ]
}

export function ComparePage({ query }: ScreenProps) {
  const ids = (query.get('of') ?? '').split(',').filter(Boolean).slice(0, most)
  const known = ids.map((id) => rowOf(id)).filter((r) => !!r)
  const key = ids.join()
  const { data: docs, error, again } = useReading<Workload[]>(key ? known.map((r) => r.id).join() + '/' + key : null, (signal) => Promise.all(known.map((r) => get<Workload>(workloadURL(r.project, r.name) + '?tasks=0', signal))), () => known.length, 60_000)
  const { data: said } = useReading<Reported>(key ? 'reported' + key : null, (signal) => get<Reported>('v1/reported' + params({ workload: key, points: 200 }), signal), () => known.map((r) => rowOf(r.id)?.revision).join(), 5000)
  const oldest = (docs ?? []).reduce((t, w) => (t === '' || w.createdAt < t ? w.createdAt : t), '')
  const { data: charged } = useLive<UsageList>(oldest ? 'v1/usage' + params({ by: 'workload', from: oldest }) : null, 'beat', 30_000)
  const of = values((docs ?? []).map((w) => flat(w.spec ?? {}, '', {})))
  const all = (docs ?? []).map((w, i): Trial => ({
    id: w.id, name: w.name, to: workloadPath(w.project, w.name), of: stateOf(w), ...of[i]!, took: took(w, present(), charged), series: (said?.series ?? []).filter((s) => s.id === w.id),
  }))
  return (
    <Page title={T.$compare} sub={<><Link to="workloads">{T.$workloads}</Link><span aria-hidden="true">/</span><span>{plural(ids.length, T.$nWorkloads)}</span></>} actions={
      <CopyAs of={() => ({
        cli: known.map((r) => `muster describe ${r.project === 'default' ? r.name : `${r.name} --project ${r.project}`}`).join('\n'),
        python: python(`r = client.request("GET", "/v1/reported?workload=${key}")`),
        curl: curl('v1/reported' + params({ workload: key })),
      })} />
    }>
      {ids.length === 0 ? <Empty icon="columns" title={T.$nothingToCompare}><p>{T.$selectWorkloadsInTheList}</p></Empty>
        : error && !docs ? <Failure error={error} again={again} />
        : !docs || (known.length > 0 && docs.length === 0) ? <Loading rows={8} />
        : <div class="overview"><Trials title={T.$results} all={all} file="compare" missing={said?.missing ?? []} /></div>}
    </Page>
  )
}
