// What each workload answered to an action on many.
import { useEffect, useState } from 'preact/hooks'
import { asError, get, params, type ApiError } from '../api/client'
import type { BulkAction, BulkOutcome, BulkOutcomeList } from '../api/types'
import { count, plural } from '../lib/format'
import { workloadPath } from '../lib/router'
import { Button, Failure, Link, Loading } from '../ui/basics'
import { Dialog, over } from '../ui/overlay'
import { phrase, T } from '../texts'

/** Shows what came of an action: what was refused, and why, or all. */
export function bulkOutcomes(of: BulkAction): void {
  over.value = <Outcomes of={of} close={() => (over.value = null)} />
}

function Outcomes({ of, close }: { of: BulkAction; close: () => void }) {
  const [refused, setRefused] = useState(of.refused > 0)
  const [items, setItems] = useState<BulkOutcome[] | null>(null)
  const [next, setNext] = useState('')
  const [error, setError] = useState<ApiError | null>(null)
  const read = (cursor: string, have: BulkOutcome[]): Promise<void> =>
    get<BulkOutcomeList>(`v1/bulk-actions/${of.id}/outcomes` + params({ refused, cursor, limit: 100 })).then(
      (page) => {
        setItems([...have, ...page.items])
        setNext(page.next ?? '')
      },
      (e) => setError(asError(e)),
    )
  useEffect(() => {
    setItems(null)
    void read('', [])
  }, [refused])
  const left = of.total - of.done - of.refused
  return (
    <Dialog title={T.$results} close={close}>
      <p>{phrase(T.$doneNRefusedN, { done: count(of.done), refused: count(of.refused) })}{left > 0 && <> {phrase(T.$notAskedN, { n: plural(left, T.$nWorkloads) })}</>}</p>
      {of.refused > 0 && of.done > 0 && <label class="pick"><input type="checkbox" checked={refused} onChange={(e) => setRefused(e.currentTarget.checked)} /> {T.$refusedOnly}</label>}
      {error ? <Failure error={error} /> : !items ? <Loading what={T.$results} rows={4} /> : (
        <ul class="bulk-outcomes" onClickCapture={(e) => { if ((e.target as Element).closest('a')) setTimeout(close) }}>
          {items.map((o) => (
            <li key={o.id}>
              {o.name && o.phase !== 'Deleted' ? <Link to={workloadPath(o.project!, o.name)}>{o.name}</Link> : <span>{o.name ?? o.id}</span>}
              <span class="muted">{o.problem ? `${o.problem.detail ?? o.problem.title}${o.problem.hint ? '; ' + o.problem.hint : ''}` : o.phase}</span>
            </li>
          ))}
        </ul>
      )}
      {next && items && <Button onClick={() => void read(next, items)}>{T.$showMore}</Button>}
    </Dialog>
  )
}
