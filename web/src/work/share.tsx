// Links that show a workload to people without an account.
import { get, send, workloadURL } from '../api/client'
import type { Reported, Share, ShareList } from '../api/types'
import { moment } from '../lib/format'
import { present } from '../lib/clock'
import { root } from '../lib/router'
import { shell } from '../lib/format'
import { askFor, type Values } from '../ui/ask'
import { Button } from '../ui/basics'
import { curl } from '../ui/copyas'
import { complain, copy, Dialog, over, toast } from '../ui/overlay'
import { named, python, type Named } from './acts'
import { phrase, T } from '../texts'

const lengths: [string, string][] = [['7d', T.$sevenDays], ['24h', T.$oneDay], ['30d', T.$thirtyDays], ['90d', T.$ninetyDays]]

/** Makes a link, and shows those that there are. */
export async function shareForm(w: Named): Promise<void> {
  const url = 'v1/shares'
  try {
    const [{ items }, told] = await Promise.all([get<ShareList>(url + '?workload=' + w.id), get<Reported>(workloadURL(w.project, w.name) + '/reported?points=1')])
    const charts = [...new Set(told.series.map((s) => s.metric))].filter(Boolean).sort()
    const body = (v: Values): Record<string, string | boolean> => ({ project: w.project, workload: w.name, expires: v.expires || '7d', ...(v.chart ? { chart: v.chart } : v.logs ? { logs: true } : {}) })
    askFor({
      title: phrase(T.$shareName, { name: w.name }), yes: T.$makeALink, first: { chart: '', expires: '7d', logs: '' },
      text: <><p>{T.$whoHasTheLinkSees}</p><Links of={items} url={url} /></>,
      inputs: (v) => [{ name: 'chart', label: T.$showsLower, options: [['', T.$stateAndAllCurves], ...charts.map((c): [string, string] => [c, phrase(T.$onlyChart, { chart: c })])] }, ...(v.chart ? [] : [{ name: 'logs', label: T.$alsoTheEndOfItsOutput, kind: 'check' as const }]), { name: 'expires', label: T.$goodForLower, options: lengths }],
      said: (v) => ({ cli: `muster share ${named(w)}${v.chart ? ' --chart ' + shell(v.chart) : v.logs ? ' --logs' : ''} --expires ${v.expires || '7d'}`, python: python(`print(client.request("POST", ${JSON.stringify('/' + url)}, body=${JSON.stringify(body(v))}))`), curl: curl(url, { method: 'POST', json: body(v) }) }),
      act: async (v) => {
        const made = await send<Share>('POST', url, body(v))
        const link = location.origin + root + made.path
        setTimeout(() => (over.value = <Made link={link} until={made.expires} />)) // once the form is gone
      },
    })
  } catch (e) {
    complain(e, T.$couldNotShare)
  }
}

function Made({ link, until }: { link: string; until: string }) {
  return (
    <Dialog title={T.$linkMade} close={() => (over.value = null)}>
      <div class="dialog-text"><p>{phrase(T.$theLinkIsShownOnce, { time: moment(until, present(), false) })}</p><input type="text" class="share-link" readOnly value={link} aria-label={T.$link} onFocus={(e) => e.currentTarget.select()} /></div>
      <footer class="dialog-foot"><Button kind="main" icon="copy" onClick={() => void copy(link)}>{T.$copyTheLink}</Button></footer>
    </Dialog>
  )
}

function Links({ of, url }: { of: Share[]; url: string }) {
  if (of.length === 0) return null
  const revoke = (x: Share): void => void send('DELETE', url + '/' + x.id).then(() => { over.value = null; toast(T.$revokedTheLink) }, complain)
  return (
    <ul class="share-links" aria-label={T.$linksThatAreGood}>
      {of.map((x) => <li key={x.id}><span>{x.chart ? phrase(T.$onlyChart, { chart: x.chart }) : x.logs ? T.$stateCurvesOutput : T.$stateAndAllCurves} <span class="muted">{phrase(T.$untilTimeOpenedN, { time: moment(x.expires, present(), false), n: x.opened })}</span></span><Button kind="danger" onClick={() => revoke(x)}>{T.$revoke}</Button></li>)}
    </ul>
  )
}
