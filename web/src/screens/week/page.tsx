// One week on a sheet of paper: what ran, what waited and why, what was wasted, and what
// it cost; of a project, a person, or all that one may see.
import { params as queryOf } from '../../api/client'
import type { ProjectList, ReportRow, UsageReport } from '../../api/types'
import { present } from '../../lib/clock'
import { count, localTimes, span as lengthOf } from '../../lib/format'
import { setQuery } from '../../lib/router'
import { useLive } from '../../live/fetch'
import { session } from '../../live/store'
import type { ScreenProps } from '../../screen'
import { Button, Card, Empty, Failure, Link, Loading, Page } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { python } from '../../work/acts'
import { Mailed, mailForm, useMailed } from '../../work/weekmail'
import { locale, phrase, T } from '../../texts'
import { later, monday, weekName, weekNamed } from './weeks'

const two = (n: number | undefined): string => (n ?? 0).toFixed(2)

const day = (d: Date): string => d.toLocaleDateString(locale, { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' })

export function WeekPage({ query }: ScreenProps) {
  const current = monday(new Date(present()))
  const from = weekNamed(query.get('week')) ?? later(current, -1)
  const to = later(from, 1)
  const name = weekName(from)
  const [project, user] = [query.get('project') ?? '', query.get('user') ?? '']
  const asked = 'v1/report' + queryOf({ by: project ? 'user' : 'project', from: from.toISOString(), to: to.toISOString(), project, user })
  const r = useLive<UsageReport>(asked, 'beat', 60_000)
  const projects = useLive<ProjectList>('v1/projects', 'beat', 60_000)
  const mailed = useMailed()
  const of = project && user ? phrase(T.$userInProject, { user, project }) : project || user || T.$ofEverythingYouMaySee
  const me = session.value?.user
  const people = [...new Set([user, me ?? ''].filter(Boolean))]
  const names = [...new Set([project, ...(projects.data?.items ?? []).map((p) => p.name)].filter(Boolean))].sort()
  return (
    <Page class="week" title={phrase(`${T.$weeklyReport} {name}`, { name })} sub={`${day(from)} – ${day(new Date(to.getTime() - 1))} · ${of}`} actions={<>
      <Button icon="download" onClick={() => window.print()}>{T.$print}</Button>
      <Button onClick={() => mailForm({ week: name, project, user }, mailed.again)}>{T.$mailDots}</Button>
      <CopyAs of={() => ({ cli: `muster report --week=${name}${project ? ' --project ' + project : ''}${user ? ' --user ' + user : ''}`, python: python(`report = client.report(from_=${JSON.stringify(from.toISOString())}, to=${JSON.stringify(to.toISOString())})`, 'print(report["total"])'), curl: curl(asked) })} />
    </>}>
      <div class="toolbar">
        <Button onClick={() => setQuery({ week: weekName(later(from, -1)) })}>{T.$previousWeek}</Button>
        <Button refused={from < current ? undefined : T.$noLaterWeek} onClick={() => setQuery({ week: weekName(to) })}>{T.$nextWeek}</Button>
        <label class="week-of">{T.$project} <select value={project} onChange={(e) => setQuery({ project: e.currentTarget.value })}><option value="">{T.$all}</option>{names.map((n) => <option key={n} value={n}>{n}</option>)}</select></label>
        <label class="week-of">{T.$onlyOfUser} <select value={user} onChange={(e) => setQuery({ user: e.currentTarget.value })}><option value="">{T.$everybody}</option>{people.map((n) => <option key={n} value={n}>{n}</option>)}</select></label>
      </div>
      {r.error && !r.data ? <Failure error={r.error} again={r.again} /> : !r.data ? <Loading what={T.$loadingReport} /> : <Sheet r={r.data} by={project ? 'user' : 'project'} />}
      <Mailed of={mailed} />
    </Page>
  )
}

function Sheet({ r, by }: { r: UsageReport; by: 'user' | 'project' }) {
  const t = r.total
  if (t.workloads === 0 && r.waited.length === 0) return <><Empty icon="columns" title={T.$nothingRan} /><Missing of={r.missing ?? []} /></>
  const money = (n: number): string => (r.currency ? `${two(n)} ${r.currency}` : '–')
  const hours = r.waited.reduce((sum, x) => sum + x.hours, 0)
  const lost = t.lostGpuHours ?? 0
  const displaced = t.displacedGpuHours ?? 0
  return (
    <>
      <dl class="week-figures">
        <div><dt>{T.$workloads}</dt><dd>{count(t.workloads)}</dd></div>
        <div><dt>{T.$gpuHours}</dt><dd>{two(t.gpuHours)}</dd></div>
        {r.currency && <div><dt>{T.$cost}</dt><dd>{money(t.cost)}</dd></div>}
        <div><dt>{T.$meanWait}</dt><dd>{t.waits > 0 ? lengthOf(t.meanWaitSeconds * 1000) : '–'}</dd></div>
        <div><dt title={T.$soLongOrLess}>{T.$wait95}</dt><dd>{t.waits > 0 ? lengthOf(t.wait95Seconds * 1000) : '–'}</dd></div>
        <div><dt>{T.$lost}</dt><dd>{two(lost)} h</dd></div>
      </dl>
      <div class="week-cards">
        <Card title={T.$whatRan}>
          <Rows head={[by === 'user' ? T.$user : T.$project, T.$gpuHours, ...(r.currency ? [T.$cost] : []), T.$workloads]} rows={r.items.slice(0, 40).map((x) => [nameOf(x, by), two(x.gpuHours), ...(r.currency ? [two(x.cost)] : []), count(x.workloads)])} foot={[T.$total2, two(t.gpuHours), ...(r.currency ? [two(t.cost)] : []), count(t.workloads)]} />
          <p class="muted">{Object.entries(t.ends ?? {}).sort((a, b) => b[1] - a[1]).map(([phase, n]) => `${n} ${phase}`).join(', ')}</p>
        </Card>
        <Card title={T.$whyItWaited} aside={hours > 0 ? `${two(hours)} h` : undefined}>
          {r.waited.length === 0 ? <p class="muted">{T.$nothingWaited}</p> : <>
            <ul class="week-bars">{r.waited.map((x) => (
              <li key={x.reason}>
                <span>{x.reason === 'NotAsked' ? T.$notYetLookedAt : x.reason}</span><span>{two(x.hours)} h · {Math.round((100 * x.hours) / Math.max(hours, 1e-9))} %</span>
                <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width={(100 * x.hours) / Math.max(hours, 1e-9)} height="1" /></svg>
              </li>
            ))}</ul>
            <p class="muted">{T.$hoursOfAllTogether}</p>
          </>}
        </Card>
        <Card title={T.$whatWasWasted}>
          <Rows head={['', T.$gpuHours]} rows={[[T.$failedGpuHours, two(lost - displaced)], [T.$displacedGpuHours, two(displaced)], [T.$idleGpuHoursLastDay, two(t.idleGpuHours)]]} />
        </Card>
        <Card title={T.$largestWorkloads}>
          {r.largest.length === 0 ? <p class="muted">–</p> : <div class="scroll-x" tabIndex={0} role="region" aria-label={T.$largestWorkloads}><table class="plain">
            <thead><tr><th scope="col">{T.$name}</th><th scope="col">{T.$user}</th><th scope="col">{T.$status}</th><th scope="col" class="end">{T.$gpuHours}</th>{r.currency && <th scope="col" class="end">{T.$cost}</th>}</tr></thead>
            <tbody>{r.largest.map((x) => <tr key={x.id}><td><Link to={`workloads/${x.project}/${x.name}`}>{x.project}/{x.name}</Link></td><td>{x.user}</td><td>{x.phase}</td><td class="end">{two(x.gpuHours)}</td>{r.currency && <td class="end">{money(x.cost)}</td>}</tr>)}</tbody>
          </table></div>}
        </Card>
      </div>
      <Missing of={r.missing ?? []} />
    </>
  )
}

const nameOf = (x: ReportRow, by: 'user' | 'project'): string => x[by] || '–'

const Missing = ({ of }: { of: string[] }) => <>{of.map((m) => <p key={m} class="muted">{phrase(T.$notKnownX, { x: localTimes(m, present()) })}</p>)}</>

/** A table of a name and numbers. */
function Rows({ head, rows, foot }: { head: string[]; rows: string[][]; foot?: string[] }) {
  const line = (row: string[]) => row.map((c, i) => <td key={i} class={i > 0 ? 'end' : undefined}>{c}</td>)
  return (
    <table class="plain">
      <thead><tr>{head.map((h, i) => (h ? <th key={i} scope="col" class={i > 0 ? 'end' : undefined}>{h}</th> : <td key={i} />))}</tr></thead>
      <tbody>{rows.map((row, i) => <tr key={i}>{line(row)}</tr>)}</tbody>
      {foot && <tfoot><tr>{line(foot)}</tr></tfoot>}
    </table>
  )
}
