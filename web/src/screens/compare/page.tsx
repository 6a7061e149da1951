// Any number of workloads side by side: what they were given, what they reported.
import { get, params, workloadURL } from '../../api/client'
import type { Reported, Workload } from '../../api/types'
import { plural } from '../../lib/format'
import { workloadPath } from '../../lib/router'
import { useReading } from '../../live/fetch'
import { rowOf } from '../../live/store'
import type { ScreenProps } from '../../screen'
import { Empty, Failure, Link, Loading, Page } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { stateOf } from '../../ui/status'
import { python } from '../../work/acts'
import { Trials, type Trial } from '../../work/trials'
import { T } from '../../texts'

const most = 100 // workloads, as the server has it

/** The values of a document under their paths. */
function flat(v: unknown, path: string, into: Record<string, unknown>): Record<string, unknown> {
  if (typeof v === 'object' && v !== null && !Array.isArray(v)) for (const [k, x] of Object.entries(v)) flat(x, path ? path + '.' + k : k, into)
  else into[path] = v
  return into
}

const own = new Set(['name', 'namePrefix', 'workdir']) // of course others, or of no matter

/** Of each the values in which not all are the same, under the shortest names that tell them apart. */
export function differences(docs: Record<string, unknown>[]): Record<string, unknown>[] {
  const paths = [...new Set(docs.flatMap((d) => Object.keys(d)))].filter((p) => !own.has(p) && new Set(docs.map((d) => JSON.stringify(d[p]))).size > 1).sort()
  const last = (p: string): string => p.slice(p.lastIndexOf('.') + 1)
  const name = (p: string): string => (paths.filter((q) => last(q) === last(p)).length > 1 ? p : last(p))
  return docs.map((d) => Object.fromEntries(paths.map((p) => [name(p), d[p]])))
}

export function ComparePage({ query }: ScreenProps) {
  const ids = (query.get('of') ?? '').split(',').filter(Boolean).slice(0, most)
  const known = ids.map((id) => rowOf(id)).filter((r) => !!r)
  const key = ids.join()
  const { data: docs, error, again } = useReading<Workload[]>(key ? known.map((r) => r.id).join() + '/' + key : null, (signal) => Promise.all(known.map((r) => get<Workload>(workloadURL(r.project, r.name) + '?tasks=0', signal))), () => known.length, 60_000)
  const { data: said } = useReading<Reported>(key ? 'reported' + key : null, (signal) => get<Reported>('v1/reported' + params({ workload: key, points: 200 }), signal), () => known.map((r) => rowOf(r.id)?.revision).join(), 5000)
  const given = differences((docs ?? []).map((w) => flat(w.spec ?? {}, '', {})))
  const all = (docs ?? []).map((w, i): Trial => ({
    id: w.id, name: w.name, to: workloadPath(w.project, w.name), of: stateOf(w), given: given[i]!, series: (said?.series ?? []).filter((s) => s.id === w.id),
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
