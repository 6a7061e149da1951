import { send } from '../../api/client'
import type { Schedule, ScheduleList, Workload } from '../../api/types'
import { useTicking } from '../../lib/clock'
import { exact, moment, shell } from '../../lib/format'
import { useLive } from '../../live/fetch'
import { Age, Button, Empty, Failure, Link, Loading, Page } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { complain, toast } from '../../ui/overlay'
import { python } from '../../work/acts'
import { phrase, T } from '../../texts'

const pathOf = (s: Schedule) => `v1/projects/${encodeURIComponent(s.project)}/schedules/${encodeURIComponent(s.name)}`

/** What is submitted again and again, by the clock. */
export function SchedulesPage() {
  const { data, error, again } = useLive<ScheduleList>('v1/projects/-/schedules')
  return (
    <Page class="schedules" title={T.$schedules} sub={T.$workloadsThatAreSubmittedByTheClock}
      actions={<CopyAs of={() => ({ cli: 'muster schedule list --all', python: python('client.request("GET", "/v1/projects/-/schedules")'), curl: curl('v1/projects/-/schedules') })} />}>
      {error && !data ? <Failure error={error} again={again} /> : !data ? <Loading what={T.$loadingSchedules} rows={4} />
        : data.items.length === 0 ? <Empty icon="clock" title={T.$noSchedules}><code>muster schedule create NAME --cron @daily -f FILE</code></Empty>
          : (
            <div class="card scroll-x" tabIndex={0} role="region" aria-label={T.$schedules}>
              <table class="plain rows">
                <thead><tr><th scope="col">{T.$schedule}</th><th scope="col">{T.$project}</th><th scope="col">{T.$times}</th><th scope="col">{T.$nextRun}</th><th scope="col">{T.$lastRun}</th><th scope="col"><span class="sr">{T.$actions}</span></th></tr></thead>
                <tbody>{data.items.map((s) => <Row key={s.project + '/' + s.name} s={s} again={again} />)}</tbody>
              </table>
            </div>
          )}
    </Page>
  )
}

type Verb = 'run' | 'suspend' | 'resume'
const opposite: Partial<Record<Verb, 'suspend' | 'resume'>> = { suspend: 'resume', resume: 'suspend' }
const saidOf = { suspend: (name: string) => phrase(T.$suspendedName, { name }), resume: (name: string) => phrase(T.$resumedName, { name }) }

function Row({ s, again }: { s: Schedule; again: () => void }) {
  const run = s.runs.at(-1)
  const event = s.events.at(-1)
  const missed = event && event.what !== 'Replaced' && (!s.last || event.due > s.last) ? event : null
  const act = async (verb: Verb, said: (done: unknown) => string): Promise<void> => {
    const back = opposite[verb]
    try {
      toast(said(await send('POST', pathOf(s) + '/' + verb)), back && { action: { label: T.$undo, run: () => void send('POST', pathOf(s) + '/' + back).then(() => { toast(saidOf[back](s.name)); again() }, complain) } })
      again()
    } catch (e) {
      complain(e)
    }
  }
  return (
    <tr>
      <th scope="row">{s.name}{s.description && <div class="muted">{s.description}</div>}</th>
      <td>{s.project}</td>
      <td><code>{s.cron}</code> <span class="muted">{s.timeZone}</span></td>
      <td>{s.suspended ? <span class="muted">{T.$suspended}</span> : s.next[0] ? <Moment at={s.next[0]} /> : <span class="none">–</span>}</td>
      <td>
        {run ? <><Link to={`workloads/${encodeURIComponent(s.project)}/${encodeURIComponent(run.name)}`}>{run.phase}</Link> <span class="muted"><Age at={run.createdAt} /></span></> : <span class="none">–</span>}
        {missed && <div class="muted">{missed.what}: {missed.message}</div>}
      </td>
      <td class="row-acts">
        <Button kind="quiet" aria-label={phrase(T.$runNameNow, { name: s.name })} onClick={() => void act('run', (w) => phrase(T.$startedName, { name: shell((w as Workload).name) }))}>{T.$runNow}</Button>
        <Button kind="quiet" aria-label={phrase(s.suspended ? T.$resumeName : T.$suspendName, { name: s.name })} onClick={() => void act(s.suspended ? 'resume' : 'suspend', () => saidOf[s.suspended ? 'resume' : 'suspend'](s.name))}>{s.suspended ? T.$resume : T.$suspend}</Button>
      </td>
    </tr>
  )
}

function Moment({ at }: { at: string }) {
  const text = useTicking((now) => moment(at, now, false), at)
  return <time dateTime={at} title={exact(at)}>{text}</time>
}
