// What was used and what it cost, by department, project, pool, user and type of GPU; and
// how budgets stand.
import { params as queryOf } from '../../api/client'
import type { BudgetList, BudgetState, ReportRow, UsageReport } from '../../api/types'
import { budgetStates } from '../../work/budgets'
import { now, present } from '../../lib/clock'
import { count, moment, span as lengthOf, localTimes } from '../../lib/format'
import { setQuery } from '../../lib/router'
import { csv, saveText } from '../../lib/save'
import { useLive } from '../../live/fetch'
import type { ScreenProps } from '../../screen'
import { Button, Card, Empty, Failure, Link, Loading, Page } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { python } from '../../work/acts'
import { phrase, T } from '../../texts'

const days = [1, 7, 30, 90] as const

const groupings = ['department', 'project', 'pool', 'user', 'gpu-type'] as const
type By = (typeof groupings)[number]

const heads: Record<By, string> = { department: T.$departmentTitle, project: T.$project, pool: T.$pool, user: T.$user, 'gpu-type': T.$gpuTypeTitle }

const fieldOf = { department: 'department', project: 'project', pool: 'pool', user: 'user', 'gpu-type': 'gpuType' } as const

/** What a row is called. */
const nameOf = (r: ReportRow, by: By): string => r[fieldOf[by]] || '–'

const two = (n: number | undefined): string => (n ?? 0).toFixed(2)

const wait = (seconds: number): string => lengthOf(seconds * 1000)

const ended = (r: ReportRow): string => Object.entries(r.ends ?? {}).sort((a, b) => b[1] - a[1]).map(([phase, n]) => `${n} ${phase}`).join(', ') || '–'

/** Rows of a report as a file. */
export const reportTable = (r: UsageReport, by: By): (string | number)[][] => [
  [by, 'gpu_hours', 'cost', 'currency', 'lost_gpu_hours', 'idle_gpu_hours', 'workloads', 'starts', 'mean_wait_seconds', 'wait95_seconds', 'ends'],
  ...r.items.map((x) => [x[fieldOf[by]] ?? '', x.gpuHours.toFixed(4), x.cost.toFixed(4), r.currency ?? '', (x.lostGpuHours ?? 0).toFixed(4), (x.idleGpuHours ?? 0).toFixed(4), x.workloads, x.waits, x.meanWaitSeconds.toFixed(1), x.wait95Seconds.toFixed(1), ended(x)]),
]

export function ReportsPage({ query }: ScreenProps) {
  const by = groupings.find((g) => g === query.get('by')) ?? 'project'
  const spanOf = days.find((d) => String(d) === query.get('days')) ?? 30
  const from = new Date(Math.floor(present() / 3600_000) * 3600_000 - spanOf * 86400_000).toISOString()
  const asked = 'v1/report' + queryOf({ by, from })
  const r = useLive<UsageReport>(asked, 'beat', 60_000)
  const budgets = useLive<BudgetList>('v1/budgets', 'beat', 60_000)
  const money = !!r.data?.currency
  return (
    <Page title={T.$reportsOfUse} sub={r.data && `${moment(r.data.from, now.value, false)} – ${moment(r.data.to, now.value, false)}`} actions={<>
      <Link to="reports/week" class="button plain labelled">{T.$weeklyReport}</Link>
      <Button icon="download" refused={r.data ? undefined : T.$loadingReport} onClick={() => r.data && saveText(`report-by-${by}.csv`, 'text/csv', csv(reportTable(r.data, by)))}>{T.$downloadAsCSV}</Button>
      <CopyAs of={() => ({ python: python(`report = client.report(by=${JSON.stringify(by)})`, 'for row in report["items"]:', '    print(row)'), cli: `muster report --by ${by} --from ${spanOf}d -o csv`, curl: curl(asked) })} />
    </>}>
      <div class="toolbar">
        <div class="segments small" role="group" aria-label={T.$period}>{days.map((d) => <button key={d} type="button" aria-pressed={d === spanOf} onClick={() => setQuery({ days: String(d) })}>{d} d</button>)}</div>
        <div class="segments small" role="group" aria-label={T.$groupBy}>{groupings.map((g) => <button key={g} type="button" aria-pressed={g === by} onClick={() => setQuery({ by: g })}>{heads[g]}</button>)}</div>
      </div>
      {r.error && !r.data ? <Failure error={r.error} again={r.again} /> : !r.data ? <Loading what={T.$loadingReport} /> : r.data.items.length === 0 ? <Empty icon="columns" title={T.$nothingWasUsed} /> : (
        <Card title={heads[by]} aside={count(r.data.items.length)}>
          <div class="scroll-x" tabIndex={0} role="region" aria-label={T.$reportsOfUse}>
            <table class="plain reports-table">
              <thead><tr>
                <th scope="col">{heads[by]}</th>{money && <th scope="col" class="end">{T.$cost}</th>}
                <th scope="col" class="end">{T.$gpuHours}</th><th scope="col" class="end">{T.$lost}</th><th scope="col" class="end">{T.$idle}</th><th scope="col" class="end">{T.$workloads}</th>
                <th scope="col" class="end">{T.$meanWait}</th><th scope="col" class="end" title={T.$soLongOrLess}>{T.$wait95}</th><th scope="col">{T.$endsOfWorkloads}</th>
              </tr></thead>
              <tbody>{r.data.items.slice(0, 2000).map((x) => <Row key={nameOf(x, by)} x={x} name={nameOf(x, by)} currency={r.data!.currency} />)}</tbody>
              <tfoot><Row x={r.data.total} name={T.$total2} currency={r.data.currency} /></tfoot>
            </table>
          </div>
        </Card>
      )}
      {(r.data?.missing ?? []).map((m) => <p key={m} class="muted">{phrase(T.$notKnownX, { x: localTimes(m, now.value) })}</p>)}
      {(budgets.data?.items.length ?? 0) > 0 && <Budgets items={budgets.data!.items} />}
    </Page>
  )
}

function Row({ x, name, currency }: { x: ReportRow; name: string; currency: string | undefined }) {
  return (
    <tr>
      <td>{name}</td>{currency && <td class="end">{two(x.cost)} {currency}</td>}
      <td class="end">{two(x.gpuHours)}</td><td class="end">{two(x.lostGpuHours)}</td><td class="end">{two(x.idleGpuHours)}</td><td class="end">{count(x.workloads)}</td>
      <td class="end">{x.waits > 0 ? wait(x.meanWaitSeconds) : '–'}</td><td class="end">{x.waits > 0 ? wait(x.wait95Seconds) : '–'}</td><td>{ended(x)}</td>
    </tr>
  )
}

function Budgets({ items }: { items: BudgetState[] }) {
  return (
    <Card title={T.$budgetsTitle} aside={count(items.length)}>
      <div class="scroll-x" tabIndex={0} role="region" aria-label={T.$budgetsTitle}>
        <table class="plain reports-table">
          <thead><tr><th scope="col">{T.$project}</th><th scope="col">{T.$user}</th><th scope="col" class="end">{T.$used2}</th><th scope="col" class="end">{T.$share}</th><th scope="col">{T.$state}</th><th scope="col">{T.$countedUntil}</th></tr></thead>
          <tbody>
            {items.slice(0, 500).map((b, i) => (
              <tr key={i}>
                <td>{b.project}</td><td>{b.user || (b.eachUser ? T.$eachOne : T.$all)}</td><td class="end">{two(b.used)} / {two(b.amount)} {b.currency || T.$gpuHours}</td>
                <td class="end">{Math.round(b.share * 100)} %</td><td class={b.state === 'over' ? 'reports-over' : undefined}>{budgetStates[b.state] ?? b.state}</td><td>{moment(b.ends, now.value, false)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  )
}
