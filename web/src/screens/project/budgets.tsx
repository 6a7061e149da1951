// How the budgets of a project and of what is above it stand, and the form that sets one.
import { get, send } from '../../api/client'
import type { Budget, BudgetList, BudgetState, Project } from '../../api/types'
import { moment } from '../../lib/format'
import { useLive } from '../../live/fetch'
import { now } from '../../lib/clock'
import { mayNot } from '../../live/may'
import { Button, Card, Loading } from '../../ui/basics'
import { ask, complain, toast } from '../../ui/overlay'
import { askFor, type Input, type Values } from '../../ui/ask'
import { budgetStates } from '../../work/budgets'
import { phrase, T } from '../../texts'

const two = (n: number): string => n.toFixed(2)
const where = (p: Project): string => (p.department ? 'v1/departments/' : 'v1/projects/') + encodeURIComponent(p.name)
const periods: [string, string][] = [['month', T.$eachMonth], ['week', T.$eachWeek], ['day', T.$eachDay], ['once', T.$onceInATime]]

/** Whether two budgets are one: of the same sort and time, for all or for each user. */
const same = (a: Budget, b: Budget): boolean => a.period === b.period && !a.eachUser === !b.eachUser && !a.money === !b.money && a.from === b.from && a.until === b.until

export function ProjectBudgets({ p, above }: { p: Project; above: string[] }) {
  const { data, again } = useLive<BudgetList>('v1/budgets', 'beat', 30_000)
  if (!data) return <Card title={T.$budgetsTitle}><Loading rows={2} /></Card>
  const items = data.items.filter((b) => b.project === p.name || above.includes(b.project))
  const inherited = items.some((b) => b.project !== p.name), personal = items.some((b) => b.user || b.eachUser)
  const no = mayNot('update', p.department ? 'departments' : 'projects', p.name)
  const change = async (to: (all: Budget[]) => Budget[]): Promise<void> => {
    const is = await get<Project>(where(p))
    await send('PATCH', where(p), { budgets: to(is.budgets ?? []) }, 'application/merge-patch+json')
    again()
  }
  const remove = async (b: BudgetState): Promise<void> => {
    if (!(await ask(phrase(T.$deleteName2, { name: T.$budget }), <p>{two(b.amount)} {b.currency || T.$gpuHours}, {said(b)}</p>, T.$delete))) return
    change((all) => all.filter((x) => !same(x, b))).catch((e) => complain(e, T.$couldNotDelete))
  }
  return (
    <Card title={T.$budgetsTitle} aside={<Button refused={no} onClick={() => form(p, change)}>{T.$setABudget}</Button>}>
      {items.length === 0 ? <p class="muted">{T.$noBudgets}</p> : (
        <div class="scroll-x" tabIndex={0} role="region" aria-label={T.$budgetsTitle}>
          <table class="plain">
            <thead><tr>{inherited && <th scope="col">{T.$project}</th>}{personal && <th scope="col">{T.$user}</th>}<th scope="col" class="end">{T.$used2}</th><th scope="col">{T.$period}</th><th scope="col">{T.$state}</th><th scope="col">{T.$countedUntil}</th><th scope="col"><span class="sr">{T.$actions}</span></th></tr></thead>
            <tbody>{items.slice(0, 200).map((b, i) => (
              <tr key={i}>
                {inherited && <td>{b.project}</td>}{personal && <td>{b.user || (b.eachUser ? T.$eachOne : T.$all)}</td>}<td class="end">{two(b.used)} / {two(b.amount)} {b.currency || T.$gpuHours}</td>
                <td>{said(b)}</td><td>{budgetStates[b.state] ?? b.state}</td><td>{moment(b.ends, now.value, false)}</td>
                <td class="row-acts">{b.project === p.name && <Button kind="quiet" icon="trash" refused={no} aria-label={phrase(T.$deleteName, { name: `${T.$budget} ${two(b.amount)}` })} onClick={() => void remove(b)} />}</td>
              </tr>
            ))}</tbody>
          </table>
        </div>
      )}
    </Card>
  )
}

const said = (b: Budget): string => `${periods.find(([k]) => k === b.period)?.[1] ?? b.period}, ${b.atEnd || 'hold'}`

function form(p: Project, change: (to: (all: Budget[]) => Budget[]) => Promise<void>): void {
  const inputs = (v: Values): Input[] => [
    { name: 'unit', label: T.$unit, options: [['gpuHours', T.$gpuHours], ['money', T.$money]] },
    { name: 'amount', label: T.$amount, required: true, placeholder: '500' },
    { name: 'period', label: T.$period, options: periods, note: T.$countedAnewInUTC },
    ...(v.period === 'once' ? [{ name: 'from', label: T.$from, required: true, placeholder: '2027-01-01' }, { name: 'until', label: T.$until, required: true, placeholder: '2027-04-01' }] : []),
    { name: 'atEnd', label: T.$onceUsedUp, options: [['hold', T.$nothingNewStarts], ['warn', T.$itIsToldOnly], ['stop', T.$whatRunsIsStoppedToo]] },
    { name: 'warnAt', label: T.$warnAtPercent, placeholder: '80' },
    { name: 'eachUser', kind: 'check', label: T.$eachUserHasSoMuch },
  ]
  askFor({
    title: phrase(T.$budgetOfName, { name: p.name }), yes: T.$setABudget, inputs, first: { unit: 'gpuHours', period: 'month', atEnd: 'hold' },
    refuse: (v) => (v.amount && !(Number(v.amount) > 0) ? phrase(T.$xIsNotANumberAbove0, { x: v.amount }) : undefined),
    act: async (v) => {
      const b: Budget = { period: (v.period || 'month') as Budget['period'] }
      if (v.unit === 'money') b.money = Number(v.amount)
      else b.gpuHours = Number(v.amount)
      if (b.period === 'once') [b.from, b.until] = [instant(v.from), instant(v.until)]
      if (v.atEnd && v.atEnd !== 'hold') b.atEnd = v.atEnd as NonNullable<Budget['atEnd']>
      if (v.eachUser === 'true') b.eachUser = true
      const shares = (v.warnAt ?? '').split(/[\s,;%]+/).filter(Boolean).map((x) => Number(x) / 100)
      if (shares.length) b.warnAt = shares
      await change((all) => [...all.filter((x) => !same(x, b)), b])
      toast(phrase(T.$setTheBudgetOfName, { name: p.name }))
    },
  })
}

/** A day, or an instant as it was written, as the API has it. */
const instant = (text = ''): string => (/^\d{4}-\d\d-\d\d$/.test(text.trim()) ? text.trim() + 'T00:00:00Z' : text.trim())
