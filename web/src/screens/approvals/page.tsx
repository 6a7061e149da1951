import { useState } from 'preact/hooks'
import { get, params, send, workloadURL, type ApiError } from '../../api/client'
import type { Approval, ApprovalList, Check, Workload, WorkloadList } from '../../api/types'
import { now } from '../../lib/clock'
import { ms, plural, shell, span } from '../../lib/format'
import { workloadPath } from '../../lib/router'
import { useReading } from '../../live/fetch'
import { allRows, session } from '../../live/store'
import { Age, Button, Card, Empty, Facts, Failure, Link, Loading, Page } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { complain, Dialog, toast } from '../../ui/overlay'
import { TaskStatus } from '../../ui/status'
import { named, pyNamed, python } from '../../work/acts'
import { phrase, T } from '../../texts'

const phases = ['Reviewing', 'Reserved'] // in which checks are made

/** What the server says of who is asked: whether they may decide it, or why not. */
interface Ask { w: Workload; c: Check; may?: Approval }

/** The rows of those that wait for somebody, with what they are like. */
const asking = (): string => allRows().filter((r) => r.allowedActions.includes('approve')).map((r) => r.id + r.revision).sort().join()

/** Workloads whose checks wait, read anew whenever one of their rows changes. */
function useAsked(): { asks: Ask[] | null; error: ApiError | null } {
  const { data: all, error } = useReading('approvals', async (signal) => {
    const out: Workload[] = []
    for (let cursor = ''; ;) {
      const l = await get<WorkloadList>('v1/projects/-/workloads' + params({ phase: phases.join(','), limit: 500, view: 'full', cursor }), signal)
      out.push(...l.items)
      if (!l.next) break
      cursor = l.next
    }
    const { items } = await get<ApprovalList>('v1/approvals', signal)
    return { out, may: new Map(items.map((a) => [a.id + a.check.name, a])) }
  }, asking, 500)
  // A check of a reservation waits once there is one.
  const asks: Ask[] | null = all?.out.flatMap((w) => (w.checks ?? []).filter((c) => (c.type === 'approval' || c.type === 'image') && c.verdict === 'waiting' && (c.when === 'reservation') === (w.phase === 'Reserved')).map((c) => ({ w, c, may: all.may.get(w.id + c.name) }))) ?? null
  asks?.sort((a, b) => (a.c.deadline ?? '9').localeCompare(b.c.deadline ?? '9') || a.w.number - b.w.number)
  return { asks, error }
}

const refusal = ({ c, may }: Ask): string | undefined => {
  if (c.scope) return may && !may.may ? may.refusal : undefined
  const me = session.value?.user ?? ''
  return c.users?.length && !c.users.includes(me) ? phrase(T.$onlyListMayDecideThis, { list: c.users.join(T.$or) }) : undefined
}

export function Approvals() {
  const { asks, error } = useAsked()
  const [deciding, setDeciding] = useState<{ ask: Ask; approve: boolean } | null>(null)
  const mine = asks?.filter((a) => !refusal(a)) ?? []
  const others = asks?.filter((a) => refusal(a)) ?? []
  return (
    <Page title={T.$approvals} class="approvals" sub={asks && <span>{mine.length === 0 ? T.$noDecisionsForYou : phrase(T.$decisionsForYou, { decisions: plural(mine.length, T.$nDecisions) })}{others.length > 0 && phrase(T.$othersForOthers, { others: others.length })}</span>}
      actions={mine[0] && <CopyAs of={() => said(mine[0]!, true)} />}>
      {error && !asks ? <Failure error={error} /> : !asks ? <Loading what={T.$loadingApprovals} /> : asks.length === 0
        ? <Empty icon="check" title={T.$noDecisionsForYou}><p>{T.$workloadsThatNeedAn}</p></Empty>
        : (
          <ul class="asks">
            {[...mine, ...others].map((a) => <li key={a.w.id + a.c.name}><One of={a} decide={(approve) => setDeciding({ ask: a, approve })} /></li>)}
          </ul>
        )}
      {deciding && <Decide {...deciding} close={() => setDeciding(null)} />}
    </Page>
  )
}

const commandOf = (w: Workload): string => {
  const c = (w.spec as { command?: string | string[] } | undefined)?.command
  return Array.isArray(c) ? c.map(shell).join(' ') : (c ?? '')
}

const verdicts: Record<string, [string, string]> = { waiting: ['pending', T.$pending], asked: ['starting', T.$asked], approved: ['succeeded', T.$approved], rejected: ['failed', T.$rejected] }

function One({ of, decide }: { of: Ask; decide: (approve: boolean) => void }) {
  const { w, c } = of
  const no = refusal(of)
  const rest = (w.checks ?? []).filter((x) => x.name !== c.name)
  return (
    <Card class="ask" title={<><Link to={workloadPath(w.project, w.name)}>{w.name}</Link> <span class="ask-check">{c.name}</span></>}
      aside={c.deadline ? <span data-soon={ms(c.deadline) - now.value < 3_600_000 || undefined} class="deadline">{phrase(T.$rejectedInTimeUnless, { time: span(ms(c.deadline) - now.value) })}</span> : <>{phrase(T.$waitingForAge, { age: <Age counted at={w.since} /> })}</>}>
      <div class="ask-body">
        <Facts of={[
          [T.$requestedBy, <>{w.user} <span class="muted">{phrase(T.$inTime, { time: w.project })}</span></>],
          [T.$requests, <>{w.gpus > 0 ? plural(w.gpus, T.$nGPUs) : T.$noGPUs}<span class="muted">{phrase(T.$kindPriorityPriorityMore, { kind: w.kind, priority: w.priority, more: c.when === 'reservation' && T.$quotaReserved })}</span></>],
          [T.$command, <code class="command">{commandOf(w) || T.$defaultOfTheImage}</code>],
          !!c.message && [T.$question, c.message],
          !!(c.users?.length || c.role) && [T.$approvers, [...(c.users ?? []), ...(c.role ? [c.role] : [])].join(', ')],
          !!c.images?.length && [T.$imagesToReview, <code class="command">{c.images.join(' ')}</code>],
          (c.need ?? 0) > 1 && [T.$approvals, phrase(T.$votesOfNeed, { votes: c.votes?.length ?? 0, need: c.need ?? 1, names: (c.votes ?? []).map((v) => v.by + (v.for ? ` (${v.for})` : '')).join(', ') })],
          rest.length > 0 && [T.$otherChecks, <span class="counts">{rest.map((x) => <TaskStatus key={x.name} state={verdicts[x.verdict]?.[0] ?? 'pending'} label={`${x.name} ${verdicts[x.verdict]?.[1] ?? x.verdict}`} />)}</span>],
        ]} />
        <div class="ask-acts">
          <Button kind="main" icon="tick" refused={no} onClick={() => decide(true)}>{T.$approve}</Button>
          <Button kind="danger" icon="close" refused={no} onClick={() => decide(false)}>{T.$reject}</Button>
        </div>
      </div>
    </Card>
  )
}

function said({ w, c }: Ask, approve: boolean): { cli: string; python: string; curl: string } {
  const verb = approve ? 'approve' : 'reject'
  return {
    cli: `muster ${verb} ${named(w)} --check ${shell(c.name)} --message 'why'`,
    python: python(`client.${verb}(${pyNamed(w)}, check=${JSON.stringify(c.name)}, message="why")`),
    curl: curl(workloadURL(w.project, w.name) + ':' + verb, { method: 'POST', json: { check: c.name, message: 'why' } }),
  }
}

function Decide({ ask: { w, c }, approve, close }: { ask: Ask; approve: boolean; close: () => void }) {
  const [message, setMessage] = useState('')
  const [busy, setBusy] = useState(false)
  const act = async (): Promise<void> => {
    if (busy) return
    setBusy(true)
    try {
      await send('POST', workloadURL(w.project, w.name) + (approve ? ':approve' : ':reject'), { check: c.name, ...(message ? { message } : {}) })
      toast(`${approve ? T.$approved2 : T.$rejected2} ${w.name}`)
      close()
    } catch (e) {
      complain(e)
      setBusy(false)
    }
  }
  return (
    <Dialog title={phrase(T.$moreNameOfName2, { more: approve ? T.$approve : T.$reject, name: c.name, name2: w.name })} close={close}>
      <form class="dialog-form" onSubmit={(e) => { e.preventDefault(); void act() }}>
        {!approve && <p>{T.$rejectingEndsTheWorkloadIt}</p>}
        <div class="field"><label for="why">{T.$message}</label><textarea id="why" rows={3} value={message} placeholder={T.$whyKeptWithTheCheck} autoFocus onInput={(e) => setMessage(e.currentTarget.value)} /></div>
        <footer class="dialog-foot"><Button onClick={close}>{T.$cancel}</Button><Button type="submit" kind={approve ? 'main' : 'danger'} refused={busy ? T.$sending : undefined}>{approve ? T.$approve : T.$reject}</Button></footer>
      </form>
    </Dialog>
  )
}
