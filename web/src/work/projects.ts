// Projects and departments: made, moved and deleted.
import { send } from '../api/client'
import type { Project } from '../api/types'
import { shell } from '../lib/format'
import { go } from '../lib/router'
import { cluster } from '../live/store'
import { askFor, given, type Input, type Values } from '../ui/ask'
import { curl } from '../ui/copyas'
import { toast } from '../ui/overlay'
import { python } from './acts'
import { phrase, T } from '../texts'

const path = (department: boolean, name = ''): string => (department ? 'v1/departments' : 'v1/projects') + (name && '/' + encodeURIComponent(name))

/** Departments that something may stand below: none that stands below itself. */
function parents(of: Project | null): [string, string][] {
  const all = cluster.value?.projects ?? []
  const within = (p: Project): boolean => p.name === of?.name || (!!p.parent && all.some((x) => x.name === p.parent && within(x)))
  return [['', T.$nothing], ...all.filter((p) => p.department && !(of && within(p))).map((p): [string, string] => [p.name, p.name])]
}

const some: Input[] = [
  { name: 'priority', placeholder: '100', note: T.$resourcesAboveTheQuotasGo },
  { name: 'maxRunning', label: T.$concurrencyLower, placeholder: 'any', note: T.$numberOfWorkloadsThatMay },
]

const numbers = (v: Values): Record<string, number> => Object.fromEntries(['priority', 'maxRunning'].filter((k) => v[k]?.trim()).map((k) => [k, Number(v[k])]))

const wrong = (v: Values): string | undefined => Object.values(numbers(v)).every((n) => Number.isInteger(n) && n >= 0) ? undefined : T.$priorityAndConcurrencyAre

const flags = (v: Values, moves: boolean): string => [(moves || v.parent) && '--parent ' + shell(v.parent ?? ''), v.priority && '--priority ' + shell(v.priority), v.maxRunning && '--max-running ' + shell(v.maxRunning)].filter(Boolean).join(' ')

/** Asks for a new project or department. */
export function newProject(): void {
  const body = (v: Values) => ({ ...given(v, 'name', 'parent'), ...numbers(v) })
  const department = (v: Values): boolean => v.kind === 'department'
  askFor({
    title: T.$newProject, yes: T.$create, first: { kind: 'project' }, refuse: wrong,
    inputs: () => [
      { name: 'name', required: true },
      { name: 'kind', options: [['project', T.$projectContainsWorkloads], ['department', T.$departmentContainsProjects]] },
      { name: 'parent', label: T.$parentLower, options: parents(null) }, ...some,
    ],
    said: (v) => ({
      cli: `muster ${v.kind} create ${shell(v.name!)} ${flags(v, false)}`.trimEnd(),
      python: python(`client.request("POST", "/${path(department(v))}", body=${JSON.stringify(body(v))})`), curl: curl(path(department(v)), { method: 'POST', json: body(v) }),
    }),
    act: async (v) => {
      await send('POST', path(department(v)), body(v))
      toast(phrase(T.$createdName, { name: v.name }))
      go('projects/' + encodeURIComponent(v.name!.trim()))
    },
  })
}

/** Asks below what a project is to stand, and for its place there. */
export function editProject(p: Project): void {
  const url = path(!!p.department, p.name)
  const body = (v: Values) => ({ parent: v.parent || null, priority: null, maxRunning: null, ...numbers(v) })
  askFor({
    title: phrase(T.$editName, { name: p.name }), yes: T.$save, refuse: wrong,
    first: { parent: p.parent ?? '', priority: String(p.priority ?? ''), maxRunning: p.maxRunning ? String(p.maxRunning) : '' },
    inputs: () => [{ name: 'parent', label: T.$parentLower, options: parents(p), note: T.$runningWorkloadsContinue2 }, ...some],
    said: (v) => ({
      cli: `muster ${p.department ? 'department' : 'project'} update ${shell(p.name)} ${flags(v, true)}`,
      python: python('import json', `client.request("PATCH", "/${url}", body=json.loads(${JSON.stringify(JSON.stringify(body(v)))}), headers={"Content-Type": "application/merge-patch+json"})`),
      curl: curl(url, { method: 'PATCH', json: body(v) }).replace('application/json', 'application/merge-patch+json'),
    }),
    act: async (v) => {
      await send('PATCH', url, body(v), 'application/merge-patch+json')
      toast(phrase(T.$changedName, { name: p.name }))
    },
  })
}
