import { useState } from 'preact/hooks'
import { params, send } from '../../api/client'
import type { Delivery, DeliveryList, Notification, NotificationList } from '../../api/types'
import { now } from '../../lib/clock'
import { ago } from '../../lib/format'
import { workloadPath } from '../../lib/router'
import { useLive } from '../../live/fetch'
import { Age, Button, Card, Empty, Failure, Link, Loading } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { ask, complain, toast } from '../../ui/overlay'
import { TaskStatus } from '../../ui/status'
import { python } from '../../work/acts'
import { Ask, given, list, pairs } from '../../ui/ask'

type To = Pick<Notification, 'webhook' | 'slack' | 'email'>

/** By which way somebody is told. An address of Slack is a secret of its own. */
const way = (n: To): [string, string] => (n.webhook ? ['webhook', n.webhook] : n.slack ? ['Slack', n.slack.startsWith('http') ? 'incoming webhook' : n.slack] : ['mail', n.email ?? ''])

const states: Record<string, [string, string]> = { waiting: ['pending', 'waiting'], delivered: ['succeeded', 'delivered'], failed: ['failed', 'failed'] }

/** Of what one is told, and what became of it. */
export function Notifications() {
  const subs = useLive<NotificationList>('v1/notifications', 'never')
  const [state, setState] = useState('')
  const sent = useLive<DeliveryList>('v1/notifications/deliveries' + params({ state, limit: 200 }), 'beat', 3000)
  const [making, setMaking] = useState(false)
  const act = async (what: () => Promise<unknown>, done: string): Promise<void> => {
    try {
      await what()
      toast(done)
    } catch (e) {
      complain(e)
    }
    subs.again()
    sent.again()
  }
  if (subs.error && !subs.data) return <Failure error={subs.error} again={subs.again} />
  if (!subs.data) return <Loading what="Loading notifications" rows={3} />
  return (
    <>
      <div class="toolbar">
        <span class="muted">You are told of your own workloads.</span>
        <div class="toolbar-end">
          <CopyAs of={() => ({ cli: 'muster notifications\nmuster notifications deliveries', python: python('client.request("GET", "/v1/notifications/deliveries")'), curl: curl('v1/notifications/deliveries') })} />
          <Button kind="main" onClick={() => setMaking(true)}>New notification</Button>
        </div>
      </div>
      {subs.data.items.length === 0 ? <Empty icon="info" title="You are told of nothing"><p>A webhook, Slack or a mail can tell when a workload ends or nears its deadline.</p></Empty> : (
        <div class="card scroll-x" tabIndex={0} role="region" aria-label="Notifications">
          <table class="plain rows">
            <thead><tr><th scope="col">Notification</th><th scope="col">On</th><th scope="col">Of</th><th scope="col">To</th><th scope="col"><span class="sr">Acts</span></th></tr></thead>
            <tbody>{subs.data.items.map((n) => (
              <tr key={n.name}>
                <th scope="row">{n.name}</th>
                <td>{n.on?.length ? n.on.map((o) => <span key={o} class="label">{o}</span>) : 'every end'}</td>
                <td>{[n.project, ...Object.entries(n.labels ?? {}).map(([k, v]) => `${k}=${v}`)].filter(Boolean).join(', ') || 'everything'}</td>
                <td><span class="muted">{way(n)[0]}</span> <span class="clip address" title={way(n)[1]}>{way(n)[1]}</span></td>
                <td class="row-acts">
                  <Button kind="quiet" aria-label={'Test ' + n.name} onClick={() => void act(() => send('POST', 'v1/notifications/test', { name: n.name }), 'A test is on its way')}>Test</Button>
                  <Button kind="quiet" icon="trash" aria-label={'Delete ' + n.name} onClick={() => void ask(`Delete notification ${n.name}?`, <p>What is on its way arrives.</p>, 'Delete').then((yes) => void (yes && act(() => send('DELETE', 'v1/notifications/' + encodeURIComponent(n.name)), `Deleted ${n.name}`)))} />
                </td>
              </tr>
            ))}</tbody>
          </table>
        </div>
      )}
      <Card title="Deliveries of the last 7 days" aside={
        <span class="segments small" role="group" aria-label="State">{['', 'waiting', 'delivered', 'failed'].map((s) => <button key={s} type="button" aria-pressed={state === s} onClick={() => setState(s)}>{s || 'all'}</button>)}</span>
      }>
        {sent.error && !sent.data ? <Failure error={sent.error} again={sent.again} /> : !sent.data ? <Loading what="Loading deliveries" rows={3} /> : sent.data.items.length === 0 ? <p class="muted">{state ? `None is ${state}.` : 'Nothing was sent.'}</p> : (
          <div class="scroll-x" tabIndex={0} role="region" aria-label="Deliveries">
            <table class="plain rows">
              <thead><tr><th scope="col">State</th><th scope="col">Of</th><th scope="col">On</th><th scope="col">To</th><th scope="col" data-align="end">Tries</th><th scope="col">When</th><th scope="col">What went wrong</th><th scope="col"><span class="sr">Acts</span></th></tr></thead>
              <tbody>{sent.data.items.map((d) => <Sent key={d.id} d={d} again={() => void act(() => send('POST', 'v1/notifications/redeliver', { id: d.id }), 'It is sent again')} />)}</tbody>
            </table>
          </div>
        )}
      </Card>
      {making && (
        <Ask title="New notification" yes="Make it" close={() => setMaking(false)} first={{ way: 'webhook' }}
          inputs={(v) => [
            { name: 'name', required: true, note: 'A word for it' },
            { name: 'way', label: 'By', options: [['webhook', 'webhook'], ['slack', 'Slack'], ['email', 'mail']] },
            v.way === 'slack' ? { name: 'slack', required: true, note: 'URL of an incoming webhook, or the name of a secret that holds it' } : v.way === 'email' ? { name: 'email', required: true, note: 'Address' } : { name: 'webhook', required: true, note: 'URL to which a CloudEvent is posted', placeholder: 'https://' },
            ...(v.way === 'webhook' ? [{ name: 'secret', note: 'Name of the secret with the key that signs it' }] : []),
            { name: 'on', note: 'Statuses, with commas between; usually every end and DeadlineNear', placeholder: 'Running, Failed' },
            { name: 'project', note: 'Only its workloads', placeholder: 'any' },
            { name: 'labels', note: 'That they must have', placeholder: 'team=vision' },
          ]}
          act={async (v) => {
            await send('POST', 'v1/notifications', { ...given(v, 'name', v.way ?? 'webhook', ...(v.way === 'webhook' ? ['secret'] : []), 'project'), ...(list(v.on).length ? { on: list(v.on) } : {}), ...(v.labels?.trim() ? { labels: pairs(v.labels) } : {}) })
            toast(`Made ${v.name}`)
            subs.again()
          }} />
      )}
    </>
  )
}

function Sent({ d, again }: { d: Delivery; again: () => void }) {
  const [state, label] = states[d.state] ?? ['pending', d.state]
  return (
    <tr>
      <td><TaskStatus state={state} label={label} /></td>
      <td>{d.workload ? <Link to={workloadPath(d.project ?? 'default', d.name ?? d.workload)}>{d.name ?? d.workload}</Link> : <span class="muted">a test</span>}</td>
      <td>{d.on}</td>
      <td><span class="muted">{way(d)[0]}</span> <span class="clip address" title={way(d)[1]}>{way(d)[1]}</span></td>
      <td data-align="end">{d.tries}</td>
      <td><Age at={d.lastAt ?? d.at} />{d.nextAt && d.state === 'waiting' && <span class="muted">, again {ago(d.nextAt, now.value)}</span>}</td>
      <td class="why-cell">{d.problem}</td>
      <td class="row-acts"><Button kind="quiet" icon="restart" title={`Send ${d.on} of ${d.name ?? 'the test'} again`} onClick={again}>Send again</Button></td>
    </tr>
  )
}
