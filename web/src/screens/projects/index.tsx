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

/** Why a project takes nothing, if it does not. */
export function Closed({ p }: { p: Project }) {
  if (!p.stopped) return null
  const text = p.stoppedBy ? `stopped by ${p.stoppedBy}` : p.stopMode === 'hold-and-drain' ? 'stopped and drained' : 'stopped'
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
    <Page title="Projects" sub={cluster.value && <><span>{plural(leaves.length, 'project')}{departments > 0 && `, ${plural(departments, 'department')}`}</span><span>{amount(r, used)} of {amount(r, capacity(pool, r))} {r === 'memory' ? 'memory' : resourceNames[r]} in use, {promised > 0 || leaves.some((b) => b.standing?.[r].guaranteed === 0) ? `${amount(r, promised)} guaranteed` : 'no quota set'}</span></>}
      actions={<><Button icon="people" onClick={() => later((l) => l.newProject())}>New project</Button><CopyAs of={() => ({
        cli: `muster quota --pool ${shell(pool)}${r === 'gpu' ? '' : ' --resource ' + r}`, python: python(`for s in client.quota(pool=${JSON.stringify(pool)}):`, '    print(s)'), curl: curl('v1/quota?pool=' + encodeURIComponent(pool)),
      })} /></>}>
      <div class="toolbar">
        {there.length > 1 && <label class="pick">Pool <select value={pool} onChange={(e) => setQuery({ pool: e.currentTarget.value })}>{there.map((p) => <option key={p.name} value={p.name}>{p.name}</option>)}</select></label>}
        <div class="segments small" role="group" aria-label="Resource">
          {(['gpu', 'cpu', 'memory'] as const).map((x) => <button key={x} type="button" aria-pressed={r === x} onClick={() => setQuery({ resource: x })}>{resourceNames[x]}</button>)}
        </div>
      </div>
      {error && !data ? <Failure error={error} again={again} /> : !data || !cluster.value ? <Loading what="Loading projects" /> : tree.length === 0 ? <Empty icon="people" title="There are no projects"><p><code>muster project create NAME</code> makes one.</p></Empty> : (
        <>
          <div class="tree-box" tabIndex={0} role="region" aria-label="Projects">
            <table class="tree">
              <thead><tr><th scope="col">Name</th><th scope="col">{resourceNames[r]}</th><th scope="col" class="end">Used</th><th scope="col" class="end wide">Guaranteed</th><th scope="col" class="end wide">Borrowed</th><th scope="col" class="end wide">Lent</th><th scope="col" class="end wide">Limit</th><th scope="col" class="end">Waits</th></tr></thead>
              <tbody>
                {tree.map(({ project: p, depth, standing: s, lent }) => {
                  const u = s?.[r]
                  return (
                    <tr key={p.name} data-name={p.name} data-department={p.department || undefined}>
                      <td><div class="tree-name" style={{ paddingLeft: Math.min(depth, 6) * 20 + 'px' }}><Icon name={p.department ? 'people' : 'list'} size={14} /><Link to={'projects/' + encodeURIComponent(p.name)}>{p.name}</Link><Closed p={p} /></div></td>
                      <td class="tree-bar">{u ? <QuotaBar of={u} resource={r} scale={scale} lent={lent} /> : <span class="none">nothing in this pool</span>}</td>
                      <td class="end">{u ? amount(r, u.used) : '–'}{u && u.reserved > 0 && <span class="unit"> + {amount(r, u.reserved)} reserved</span>}</td>
                      <td class="end wide">{u?.guaranteed === undefined ? <span class="none">{u ? 'none set' : '–'}</span> : amount(r, u.guaranteed)}</td>
                      <td class="end wide">{u && u.over > 0 ? <span class="over">{amount(r, u.over)}</span> : <span class="none">–</span>}</td>
                      <td class="end wide">{lent > 0 ? <span class="lent">{amount(r, lent)}</span> : <span class="none">–</span>}</td>
                      <td class="end wide">{u?.limit === undefined ? <span class="none">{u ? 'none set' : '–'}</span> : amount(r, u.limit)}</td>
                      <td class="end">{s && s.queued > 0 ? <Link to={'queue?project=' + encodeURIComponent(p.name)}>{s.queued}{s.queuedGpus > 0 && <span class="unit">, {plural(s.queuedGpus, 'GPU')}</span>}</Link> : <span class="none">–</span>}</td>
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
  title: () => 'Projects',
  view: Projects,
  nav: { label: 'Projects', icon: 'people', order: 60, key: 'p' },
} satisfies Screen
