// What users may have in all projects together, and what GPUs cost.
import { send } from '../../api/client'
import type { Price, Prices, UserBound, UserBoundList } from '../../api/types'
import { moment } from '../../lib/format'
import { useLive } from '../../live/fetch'
import { now } from '../../lib/clock'
import { mayNot } from '../../live/may'
import { Button, Failure, Loading } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { ask, complain, toast } from '../../ui/overlay'
import { undoing } from '../../ui/undo'
import { askFor } from '../../ui/ask'
import { python } from '../../work/acts'
import { phrase, T } from '../../texts'

const none = <span class="none">–</span>
const path = (name: string): string => 'v1/user-limits/' + encodeURIComponent(name)

/** A number that was written, or nothing. */
const number = (text: string | undefined): number | undefined => (text?.trim() ? Number(text) : undefined)

export function Limits() {
  const users = useLive<UserBoundList>('v1/user-limits', 'beat', 30_000)
  const prices = useLive<Prices>('v1/prices', 'never')
  if (users.error && !users.data) return <Failure error={users.error} again={users.again} />
  if (!users.data) return <Loading rows={3} />
  const no = mayNot('update', 'settings', '-')
  const remove = async (u: UserBound): Promise<void> => {
    if (!(await ask(phrase(T.$deleteName2, { name: u.name }), <p>{T.$theUserIsBoundNoMore}</p>, T.$delete))) return
    send('DELETE', path(u.name)).then(() => { toast(phrase(T.$deletedName, { name: u.name }), undoing(() => send('PUT', path(u.name), boundOf(u)), users.again)); users.again() }, (e) => complain(e, T.$couldNotDelete))
  }
  return (
    <>
      <div class="toolbar">
        <span class="muted">{T.$whatUsersMayHaveAtOnce}</span>
        <div class="toolbar-end">
          <CopyAs of={() => ({ cli: 'muster user-limit list', python: python('client.request("GET", "/v1/user-limits")'), curl: curl('v1/user-limits') })} />
          <Button kind="main" refused={no} onClick={() => userForm(users.again)}>{T.$setAUserLimit}</Button>
        </div>
      </div>
      <div class="card scroll-x" tabIndex={0} role="region" aria-label={T.$userLimits}>
        <table class="plain rows stacked">
          <thead><tr><th scope="col">{T.$user}</th><th scope="col">{T.$gpus}</th><th scope="col">{T.$running}</th><th scope="col">{T.$waitingWorkloads}</th><th scope="col">{T.$note}</th><th scope="col"><span class="sr">{T.$actions}</span></th></tr></thead>
          <tbody>
            {users.data.items.map((u) => (
              <tr key={u.name}>
                <th scope="row">{u.name === '*' ? T.$everyOtherUser : u.name}</th>
                <td data-head={T.$gpus}>{of(u.usedGpu, u.gpu)}</td><td data-head={T.$running}>{of(u.running, u.maxRunning || undefined)}</td><td data-head={T.$waitingWorkloads}>{of(u.queued, u.maxQueued || undefined)}</td>
                <td data-head={T.$note}>{u.note || none}</td>
                <td class="row-acts"><Button kind="quiet" refused={no} aria-label={phrase(T.$editName, { name: u.name })} onClick={() => userForm(users.again, u)}>{T.$edit}</Button><Button kind="quiet" icon="trash" refused={no} aria-label={phrase(T.$deleteName, { name: u.name })} onClick={() => void remove(u)} /></td>
              </tr>
            ))}
            {users.data.items.length === 0 && <tr><td colSpan={6} class="muted">{T.$noLimit}</td></tr>}
          </tbody>
        </table>
      </div>
      {prices.data && <PriceTable is={prices.data} again={prices.again} no={no} />}
    </>
  )
}

const of = (has: number, most: number | undefined) => (most === undefined ? none : `${has} / ${most}`)

const boundOf = (u: UserBound) => ({ gpu: u.gpu, maxRunning: u.maxRunning || undefined, maxQueued: u.maxQueued || undefined, note: u.note || undefined })

function userForm(again: () => void, u?: UserBound): void {
  askFor({
    title: T.$userLimit, yes: T.$save, text: T.$whatRunsGoesOn,
    first: u ? { name: u.name, gpu: String(u.gpu ?? ''), maxRunning: String(u.maxRunning || ''), maxQueued: String(u.maxQueued || ''), note: u.note ?? '' } : {},
    inputs: () => [
      ...(u ? [] : [{ name: 'name', label: T.$user, required: true, note: T.$starIsEveryOtherUser }]),
      { name: 'gpu', label: T.$gpus, placeholder: T.$noLimit },
      { name: 'maxRunning', label: T.$running, placeholder: T.$noLimit },
      { name: 'maxQueued', label: T.$waitingWorkloads, placeholder: T.$noLimit },
      { name: 'note', label: T.$note },
    ],
    refuse: (v) => [v.gpu, v.maxRunning, v.maxQueued].filter((x) => x?.trim() && !(Number(x) >= 0)).map((x) => phrase(T.$xIsNotANumber, { x }))[0],
    act: async (v) => {
      const name = u?.name ?? v.name!.trim()
      await send('PUT', path(name), { gpu: number(v.gpu), maxRunning: number(v.maxRunning), maxQueued: number(v.maxQueued), note: v.note?.trim() || undefined })
      toast(phrase(T.$setTheLimitOfName, { name }))
      again()
    },
  })
}

const key = (p: Price): string => JSON.stringify([p.pool, p.gpuType, p.from])

function PriceTable({ is, again, no }: { is: Prices; again: () => void; no: string | undefined }) {
  const write = async (items: Price[], currency = is.currency): Promise<void> => {
    await send('PUT', 'v1/prices', { version: is.version, currency, items })
    again()
  }
  const form = (): void => askFor({
    title: T.$price, yes: T.$save, first: { currency: is.currency ?? '' }, text: T.$aPriceIsForAnHour,
    inputs: () => [
      { name: 'perGpuHour', label: T.$perGPUHour, required: true, placeholder: '2.5' },
      { name: 'currency', label: T.$currency, placeholder: 'EUR' },
      { name: 'gpuType', label: T.$gpuType, placeholder: 'H100', note: T.$emptyIsAny },
      { name: 'pool', label: T.$pool, note: T.$emptyIsAny },
      { name: 'from', label: T.$from, placeholder: '2027-01-01T00:00:00Z', note: T.$whatWasUsedBefore },
    ],
    refuse: (v) => (v.perGpuHour && !(Number(v.perGpuHour) >= 0) ? phrase(T.$xIsNotANumber, { x: v.perGpuHour }) : undefined),
    act: async (v) => {
      const p: Price = { perGpuHour: Number(v.perGpuHour) }
      if (v.pool?.trim()) p.pool = v.pool.trim()
      if (v.gpuType?.trim()) p.gpuType = v.gpuType.trim()
      if (v.from?.trim()) p.from = v.from.trim()
      await write([...is.items.filter((x) => key(x) !== key(p)), p], v.currency?.trim())
      toast(T.$setThePrice)
    },
  })
  return (
    <>
      <div class="toolbar"><span class="muted">{T.$whatGPUsCost}</span><div class="toolbar-end"><Button refused={no} onClick={form}>{T.$setAPrice}</Button></div></div>
      <div class="card scroll-x" tabIndex={0} role="region" aria-label={T.$prices}>
        <table class="plain rows stacked">
          <thead><tr><th scope="col">{T.$perGPUHour}</th><th scope="col">{T.$gpuType}</th><th scope="col">{T.$pool}</th><th scope="col">{T.$from}</th><th scope="col"><span class="sr">{T.$actions}</span></th></tr></thead>
          <tbody>
            {is.items.map((p) => (
              <tr key={key(p)}>
                <th scope="row">{p.perGpuHour} {is.currency}</th><td data-head={T.$gpuType}>{p.gpuType || none}</td><td data-head={T.$pool}>{p.pool || none}</td><td data-head={T.$from}>{p.from ? moment(p.from, now.value, false) : none}</td>
                <td class="row-acts"><Button kind="quiet" icon="trash" refused={no} aria-label={phrase(T.$deleteName, { name: `${T.$price} ${p.perGpuHour}` })} onClick={() => void write(is.items.filter((x) => x !== p)).catch((e) => complain(e, T.$couldNotDelete))} /></td>
              </tr>
            ))}
            {is.items.length === 0 && <tr><td colSpan={5} class="muted">{T.$noPrices}</td></tr>}
          </tbody>
        </table>
      </div>
    </>
  )
}
