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
import { undoing } from '../../ui/undo'
import { Ask, given, list, pairs } from '../../ui/ask'
import { phrase, T } from '../../texts'

type To = Pick<Notification, 'webhook' | 'slack' | 'email'>

/** By which way somebody is told. An address of Slack is a secret of its own. */
const way = (n: To): [string, string] => (n.webhook ? ['webhook', n.webhook] : n.slack ? ['Slack', n.slack.startsWith('http') ? T.$incomingWebhook : n.slack] : [T.$email, n.email ?? ''])

const states: Record<string, [string, string]> = { waiting: ['pending', T.$waiting], delivered: ['succeeded', T.$delivered], failed: ['failed', T.$failed] }

/** Of what one is told, and what became of it. */
export function Notifications() {
  const subs = useLive<NotificationList>('v1/notifications', 'never')
  const [state, setState] = useState('')
  const sent = useLive<DeliveryList>('v1/notifications/deliveries' + params({ state, limit: 200 }), 'beat', 3000)
  const [making, setMaking] = useState(false)
  const act = async (what: () => Promise<unknown>, done: string, o?: Parameters<typeof toast>[1]): Promise<void> => {
    try {
      await what()
      toast(done, o)
    } catch (e) {
      complain(e)
    }
    subs.again()
    sent.again()
  }
  const remove = async (n: Notification): Promise<void> => {
    if (!(await ask(phrase(T.$deleteNotificationName, { name: n.name }), <p>{T.$messagesAlreadyBeing}</p>, T.$delete))) return
    const { createdAt: _, ...same } = n
    await act(() => send('DELETE', 'v1/notifications/' + encodeURIComponent(n.name)), phrase(T.$deletedName, { name: n.name }), undoing(() => send('POST', 'v1/notifications', same), () => { toast(phrase(T.$createdName, { name: n.name })); subs.again() }))
  }
  if (subs.error && !subs.data) return <Failure error={subs.error} again={subs.again} />
  if (!subs.data) return <Loading what={T.$loadingNotifications} rows={3} />
  return (
    <>
      <div class="toolbar">
        <span class="muted">{T.$forYourOwnWorkloads}</span>
        <div class="toolbar-end">
          <CopyAs of={() => ({ cli: 'muster notifications\nmuster notifications deliveries', python: python('client.request("GET", "/v1/notifications/deliveries")'), curl: curl('v1/notifications/deliveries') })} />
          <Button kind="main" onClick={() => setMaking(true)}>{T.$newNotification}</Button>
        </div>
      </div>
      {subs.data.items.length === 0 ? <Empty icon="info" title={T.$noNotifications}><p>{T.$aWebhookSlackMessageOr}</p></Empty> : (
        <div class="card scroll-x" tabIndex={0} role="region" aria-label={T.$notifications}>
          <table class="plain rows">
            <thead><tr><th scope="col">{T.$notification}</th><th scope="col">{T.$on}</th><th scope="col">{T.$for}</th><th scope="col">{T.$to2}</th><th scope="col"><span class="sr">{T.$actions}</span></th></tr></thead>
            <tbody>{subs.data.items.map((n) => (
              <tr key={n.name}>
                <th scope="row">{n.name}</th>
                <td>{n.on?.length ? n.on.map((o) => <span key={o} class="label">{o}</span>) : T.$anyEnd}</td>
                <td>{[n.project, ...Object.entries(n.labels ?? {}).map(([k, v]) => `${k}=${v}`)].filter(Boolean).join(', ') || T.$everything}</td>
                <td><span class="muted">{way(n)[0]}</span> <span class="clip address" title={way(n)[1]}>{way(n)[1]}</span></td>
                <td class="row-acts">
                  <Button kind="quiet" aria-label={phrase(T.$testName, { name: n.name })} onClick={() => void act(() => send('POST', 'v1/notifications/test', { name: n.name }), T.$testSent)}>{T.$test}</Button>
                  <Button kind="quiet" icon="trash" aria-label={phrase(T.$deleteName, { name: n.name })} onClick={() => void remove(n)} />
                </td>
              </tr>
            ))}</tbody>
          </table>
        </div>
      )}
      <Card title={T.$deliveriesInTheLast7Days} aside={
        <span class="segments small" role="group" aria-label={T.$state}>{['', 'waiting', 'delivered', 'failed'].map((s) => <button key={s} type="button" aria-pressed={state === s} onClick={() => setState(s)}>{s ? states[s]![1] : T.$all}</button>)}</span>
      }>
        {sent.error && !sent.data ? <Failure error={sent.error} again={sent.again} /> : !sent.data ? <Loading what={T.$loadingDeliveries} rows={3} /> : sent.data.items.length === 0 ? <p class="muted">{state ? phrase(T.$noDeliveriesAreState, { state }) : T.$nothingHasBeenSent}</p> : (
          <div class="scroll-x" tabIndex={0} role="region" aria-label={T.$deliveries}>
            <table class="plain rows">
              <thead><tr><th scope="col">{T.$state}</th><th scope="col">{T.$for}</th><th scope="col">{T.$on}</th><th scope="col">{T.$to2}</th><th scope="col" data-align="end">{T.$attempts}</th><th scope="col">{T.$time}</th><th scope="col">{T.$error}</th><th scope="col"><span class="sr">{T.$actions}</span></th></tr></thead>
              <tbody>{sent.data.items.map((d) => <Sent key={d.id} d={d} again={() => void act(() => send('POST', 'v1/notifications/redeliver', { id: d.id }), T.$sendingAgain)} />)}</tbody>
            </table>
          </div>
        )}
      </Card>
      {making && (
        <Ask title={T.$newNotification} yes={T.$create} close={() => setMaking(false)} first={{ way: 'webhook' }}
          inputs={(v) => [
            { name: 'name', required: true, note: T.$aShortName },
            { name: 'way', label: T.$channel, options: [['webhook', 'webhook'], ['slack', 'Slack'], ['email', T.$email]] },
            v.way === 'slack' ? { name: 'slack', required: true, note: T.$urlOfAnIncomingWebhookOr } : v.way === 'email' ? { name: 'email', required: true, note: T.$emailAddress } : { name: 'webhook', required: true, note: T.$urlThatReceivesACloudEvent, placeholder: 'https://' },
            ...(v.way === 'webhook' ? [{ name: 'secret', note: T.$nameOfTheSecretWithThe }] : []),
            { name: 'on', note: T.$statusesSeparatedByCommas, placeholder: 'Running, Failed' },
            { name: 'project', note: T.$onlyWorkloadsOfThisProject, placeholder: T.$any },
            { name: 'labels', note: T.$onlyWorkloadsWithThese, placeholder: 'team=vision' },
          ]}
          act={async (v) => {
            await send('POST', 'v1/notifications', { ...given(v, 'name', v.way ?? 'webhook', ...(v.way === 'webhook' ? ['secret'] : []), 'project'), ...(list(v.on).length ? { on: list(v.on) } : {}), ...(v.labels?.trim() ? { labels: pairs(v.labels) } : {}) })
            toast(phrase(T.$createdName, { name: v.name }))
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
      <td>{d.workload ? <Link to={workloadPath(d.project ?? 'default', d.name ?? d.workload)}>{d.name ?? d.workload}</Link> : <span class="muted">{T.$testLower}</span>}</td>
      <td>{d.on}</td>
      <td><span class="muted">{way(d)[0]}</span> <span class="clip address" title={way(d)[1]}>{way(d)[1]}</span></td>
      <td data-align="end">{d.tries}</td>
      <td><Age at={d.lastAt ?? d.at} />{d.nextAt && d.state === 'waiting' && <span class="muted">{phrase(T.$nextAttemptInTime, { time: ago(d.nextAt, now.value) })}</span>}</td>
      <td class="why-cell">{d.problem}</td>
      <td class="row-acts"><Button kind="quiet" icon="restart" title={phrase(T.$sendOnOfMoreAgain, { on: d.on, more: d.name ?? T.$theTest })} onClick={again}>{T.$sendAgain}</Button></td>
    </tr>
  )
}
