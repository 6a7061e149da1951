import './style.css'
import type { Project, StandingList } from '../../api/types'
import { plural, shell } from '../../lib/format'
import { later } from '../../lib/later'
import { setQuery } from '../../lib/router'
import { useLive } from '../../live/fetch'
import { cluster } from '../../live/store'
import type { Screen, ScreenProps } from '../../screen'
import { Button, Empty, Failure, Link, Loading, Page } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { Icon } from '../../ui/icons'
import { amount, QuotaBar, QuotaKey, resourceNames, type Resource } from '../../ui/quotabar'
import { python } from '../../work/acts'
import { branches, capacity, pools, scaleOf } from '../../work/standing'
import { mayNot } from '../../live/may'
import { phrase, T } from '../../texts'

/** Why a project takes nothing, if it does not. */
export function Closed({ p }: { p: Project }) {
  if (!p.stopped) return null
  const text = p.stoppedBy ? phrase(T.$stoppedByStoppedBy, { stoppedBy: p.stoppedBy }) : p.stopMode === 'hold-and-drain' ? T.$stoppedAndDrained : T.$stopped
  return <span class="status plain" data-tone="blocked" title={p.note}><Icon name="noentry" size={14} /><span>{text}</span></span>
}

function Projects({ query }: ScreenProps) {
  const { data, error, again } = useLive<StandingList>('v1/quota')
  const all = data?.items ?? []
  const there = pools.value.filter((p) => p.nodes > 0 || all.some((s) => s.pool === p.name))
  const pool = there.find((p) => p.name === query.get('pool'))?.name ?? there[0]?.name ?? 'default'
  const r: Resource = (['gpu', 'cpu', 'memory'] as const).find((x) => x === query.get('resource')) ?? (capacity(pool, 'gpu') > 0 || !cluster.value ? 'gpu' : 'cpu')
  const tree = branches(cluster.value?.projects ?? [], all, pool, r)
  const scale = scaleOf(pool, r, all)
  const leaves = tree.filter((b) => !b.project.department)
  const departments = tree.length - leaves.length
  const sum = (f: (b: typeof tree[number]) => number): number => leaves.reduce((n, b) => n + f(b), 0)
  const used = sum((b) => b.standing?.[r].used ?? 0)
  const promised = sum((b) => b.standing?.[r].guaranteed ?? 0)
  return (
    <Page title={T.$projects} sub={cluster.value && <><span>{plural(leaves.length, T.$nProjects)}{departments > 0 && `, ${plural(departments, T.$nDepartments)}`}</span><span>{phrase(T.$usedOfPoolMoreInUseMore2, { used: amount(r, used), pool: amount(r, capacity(pool, r)), more: r === 'memory' ? T.$memoryLower : resourceNames[r], more2: promised > 0 || leaves.some((b) => b.standing?.[r].guaranteed === 0) ? phrase(T.$promisedGuaranteed, { promised: amount(r, promised) }) : T.$noQuotaSet })}</span></>}
      actions={<><Button icon="people" refused={mayNot('create', 'projects', '')} onClick={() => later((l) => l.newProject())}>{T.$newProject}</Button><CopyAs of={() => ({
        cli: `muster quota --pool ${shell(pool)}${r === 'gpu' ? '' : ' --resource ' + r}`, python: python(`for s in client.quota(pool=${JSON.stringify(pool)}):`, '    print(s)'), curl: curl('v1/quota?pool=' + encodeURIComponent(pool)),
      })} /></>}>
      <div class="toolbar">
        {there.length > 1 && <label class="pick">{phrase(T.$poolChoice, { choice: <select value={pool} onChange={(e) => setQuery({ pool: e.currentTarget.value })}>{there.map((p) => <option key={p.name} value={p.name}>{p.name}</option>)}</select> })}</label>}
        <div class="segments small" role="group" aria-label={T.$resource}>
          {(['gpu', 'cpu', 'memory'] as const).map((x) => <button key={x} type="button" aria-pressed={r === x} onClick={() => setQuery({ resource: x })}>{resourceNames[x]}</button>)}
        </div>
      </div>
      {error && !data ? <Failure error={error} again={again} /> : !data || !cluster.value ? <Loading what={T.$loadingProjects} /> : tree.length === 0 ? <Empty icon="people" title={T.$noProjects}><p>{phrase(T.$toCreateOneCode, { code: <code>muster project create NAME</code> })}</p></Empty> : (
        <>
          <div class="tree-box" tabIndex={0} role="region" aria-label={T.$projects}>
            <table class="tree">
              <thead><tr><th scope="col">{T.$name}</th><th scope="col">{resourceNames[r]}</th><th scope="col" class="end">{T.$used2}</th><th scope="col" class="end wide">{T.$guaranteed}</th><th scope="col" class="end wide">{T.$borrowed}</th><th scope="col" class="end wide">{T.$lent}</th><th scope="col" class="end wide">{T.$limit}</th><th scope="col" class="end">{T.$waiting2}</th></tr></thead>
              <tbody>
                {tree.map(({ project: p, depth, standing: s, lent }) => {
                  const u = s?.[r]
                  return (
                    <tr key={p.name} data-name={p.name} data-department={p.department || undefined}>
                      <td><div class="tree-name" style={{ paddingLeft: Math.min(depth, 6) * 20 + 'px' }}><Icon name={p.department ? 'people' : 'list'} size={14} /><Link to={'projects/' + encodeURIComponent(p.name)}>{p.name}</Link><Closed p={p} /></div></td>
                      <td class="tree-bar">{u ? <QuotaBar of={u} resource={r} scale={scale} lent={lent} /> : <span class="none">{T.$nothingInThisPool}</span>}</td>
                      <td class="end">{u ? amount(r, u.used) : '–'}{u && u.reserved > 0 && <span class="unit">{phrase(T.$reservedReserved, { reserved: amount(r, u.reserved) })}</span>}</td>
                      <td class="end wide">{u?.guaranteed === undefined ? <span class="none">{u ? T.$noneLower : '–'}</span> : amount(r, u.guaranteed)}</td>
                      <td class="end wide">{u && u.over > 0 ? <span class="over">{amount(r, u.over)}</span> : <span class="none">–</span>}</td>
                      <td class="end wide">{lent > 0 ? <span class="lent">{amount(r, lent)}</span> : <span class="none">–</span>}</td>
                      <td class="end wide">{u?.limit === undefined ? <span class="none">{u ? T.$noneLower : '–'}</span> : amount(r, u.limit)}</td>
                      <td class="end">{s && s.queued > 0 ? <Link to={'queue?project=' + encodeURIComponent(p.name)}>{s.queued}{s.queuedGpus > 0 && <span class="unit">, {plural(s.queuedGpus, T.$nGPUs)}</span>}</Link> : <span class="none">–</span>}</td>
                    </tr>
                  )
                })}
              </tbody>
            </table>
          </div>
          <QuotaKey />
        </>
      )}
    </Page>
  )
}

export default {
  path: 'projects',
  title: () => T.$projects,
  view: Projects,
  nav: { label: T.$projects, icon: 'people', order: 60, key: 'p' },
} satisfies Screen
