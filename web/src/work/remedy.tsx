// What ends a wait, where the wait is said.
import { get, send, workloadURL } from '../api/client'
import type { ApprovalList } from '../api/types'
import { later } from '../lib/later'
import { Button } from '../ui/basics'
import { complain, toast } from '../ui/overlay'
import { acts, perform, refusal, type Named } from './acts'
import { phrase, T } from '../texts'

/** The buttons that take a reason away; none where there are none, or not for who looks. */
export function Remedy({ token, of: w }: { token: string; of: Named | undefined }) {
  if (!w) return null
  if (token === 'Held' && w.allowedActions.includes('release')) return <p><Button icon="right" refused={refusal(acts.release, w)} onClick={() => void perform(acts.release, [w])}>{T.$release}</Button></p>
  if (token !== 'AdmissionChecks' || !w.allowedActions.includes('approve')) return null
  const no = refusal({ id: 'approve' }, w)
  return (
    <p class="remedy-acts">
      <Button icon="tick" kind="main" refused={no} onClick={() => void decide(w, true)}>{T.$approve}</Button>{' '}
      <Button icon="close" kind="danger" refused={no} onClick={() => void decide(w, false)}>{T.$reject}</Button>
    </p>
  )
}

/** Asks for a reason, and which check if several wait for who looks, and approves or rejects it. */
export async function decide(w: Named, approve: boolean): Promise<void> {
  let checks: string[]
  try {
    checks = (await get<ApprovalList>('v1/approvals')).items.filter((a) => a.id === w.id && a.may).map((a) => a.check.name)
  } catch (e) {
    return complain(e)
  }
  later((l) => l.askFor({
    title: phrase(T.$aName, { act: approve ? T.$approve : T.$reject, name: w.name }), yes: approve ? T.$approve : T.$reject,
    text: approve ? undefined : T.$rejectingEndsTheWorkloadIt, first: { check: checks[0] ?? '' },
    inputs: () => [...(checks.length > 1 ? [{ name: 'check', label: T.$checkLower, options: checks.map((c): [string, string] => [c, c]) }] : []), { name: 'message', label: T.$reasonLower, kind: 'long', note: T.$whyKeptWithTheCheck }],
    act: async (v) => {
      await send('POST', workloadURL(w.project, w.name) + (approve ? ':approve' : ':reject'), { ...(v.check ? { check: v.check } : {}), ...(v.message ? { message: v.message } : {}) })
      toast(`${approve ? T.$approved2 : T.$rejected2} ${w.name}`)
    },
  }))
}
