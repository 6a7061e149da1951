// The report of a week as mail: at once, or each Monday.
import { send } from '../api/client'
import type { ReportMail, WeeklyReport, WeeklyReportList } from '../api/types'
import { now } from '../lib/clock'
import { moment, shell } from '../lib/format'
import { useLive } from '../live/fetch'
import { askFor, given } from '../ui/ask'
import { Age, Button, Card } from '../ui/basics'
import { curl } from '../ui/copyas'
import { complain, toast } from '../ui/overlay'
import { python } from './acts'
import { phrase, T } from '../texts'

const mails = 'v1/report-mails'
const mondays = 'v1/weekly-reports'

/** Whose report. */
interface Of { week: string; project: string; user: string }

/** Asks to whom a report goes, and when; then is called once it is ordered. */
export function mailForm(of: Of, then: () => void): void {
  const scope = given({ project: of.project, user: of.user }, 'project', 'user')
  // Weeks begin where whoever asks is.
  const body = (each: boolean, email: string): Record<string, string> => ({ email: email.trim(), ...(each ? {} : { week: of.week }), timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone, ...scope })
  askFor({
    title: T.$mailTheReport, yes: T.$mailIt, first: { email: '', when: 'now' }, text: T.$itShowsWhatYouMaySee,
    inputs: () => [
      { name: 'email', label: T.$email, required: true },
      { name: 'when', label: T.$whenLower, options: [['now', phrase(T.$nowWeek, { week: of.week })], ['mondays', T.$eachMonday]] },
    ],
    said: (v) => {
      const each = v.when === 'mondays'
      const sent = body(each, v.email ?? '')
      const flags = [`--mail ${shell(sent.email!)}`, each && `--mondays --zone ${shell(sent.timeZone!)}`, of.project && `--project ${shell(of.project)}`, of.user && `--user ${shell(of.user)}`].filter(Boolean).join(' ')
      return { cli: `muster report --week${each ? '' : '=' + of.week} ${flags}`, python: python(`client.request("POST", "/${each ? mondays : mails}", body=${JSON.stringify(sent)})`), curl: curl(each ? mondays : mails, { method: 'POST', json: sent }) }
    },
    act: async (v) => {
      const each = v.when === 'mondays'
      if (each) {
        const made = await send<WeeklyReport>('POST', mondays, body(true, v.email!))
        toast(phrase(T.$eachMondayTo, { email: made.email }), { action: { label: T.$undo, run: () => void send('DELETE', mondays + '/' + made.id).then(then, complain) } })
      } else toast(phrase(T.$mailedTo, { email: (await send<ReportMail>('POST', mails, body(false, v.email!))).email }))
      then()
    },
  })
}

/** Those that go out each Monday, of who looks. */
export function useMailed() {
  return useLive<WeeklyReportList>(mondays, 'never')
}

export function Mailed({ of: { data, again } }: { of: ReturnType<typeof useMailed> }) {
  if (!data || data.items.length === 0) return null
  const end = async (x: WeeklyReport): Promise<void> => {
    try {
      await send('DELETE', mondays + '/' + x.id)
      const back = given({ email: x.email, timeZone: x.timeZone ?? '', project: x.project ?? '', user: x.user ?? '' }, 'email', 'timeZone', 'project', 'user')
      toast(phrase(T.$noLongerMailedTo, { email: x.email }), { action: { label: T.$undo, run: () => void send('POST', mondays, back).then(again, complain) } })
      again()
    } catch (e) {
      complain(e)
    }
  }
  return (
    <Card title={T.$mailedEachMonday} class="week-mailed">
      <div class="scroll-x" tabIndex={0} role="region" aria-label={T.$mailedEachMonday}>
        <table class="plain rows">
          <thead><tr><th scope="col">{T.$to2}</th><th scope="col">{T.$of}</th><th scope="col">{T.$nextCapital}</th><th scope="col">{T.$last}</th><th scope="col"><span class="sr">{T.$actions}</span></th></tr></thead>
          <tbody>{data.items.map((x) => (
            <tr key={x.id}>
              <th scope="row">{x.email}</th>
              <td>{[x.project, x.user].filter(Boolean).join(', ') || T.$everything}<span class="muted"> {x.by}</span></td>
              <td>{moment(x.next, now.value, false)}</td>
              <td>{x.problem ? <span class="field-bad">{x.problem}</span> : x.lastAt ? <><Age at={x.lastAt} /> <span class="muted">{x.lastWeek}</span></> : '–'}</td>
              <td class="row-acts"><Button kind="quiet" icon="trash" aria-label={phrase(T.$deleteName, { name: x.email })} onClick={() => void end(x)} /></td>
            </tr>
          ))}</tbody>
        </table>
      </div>
    </Card>
  )
}
