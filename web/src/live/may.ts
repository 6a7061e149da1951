// What who is signed in may do, as far as it is known: what would be refused is not offered.
import { signal } from '@preact/signals'
import { get } from '../api/client'
import type { Identity, RoleList } from '../api/types'
import { phrase, T } from '../texts'
import { cluster } from './store'

interface Right { scope: string; permissions: string[][] }

/** What rules give; null: nobody asks for them, or they are not known yet, and the server says no. */
const rights = signal<{ user: string; given: Right[] } | null>(null)

/** How often they are read anew where rules decide, in milliseconds. */
const every = 60_000

/** Reads what who is signed in may do, and keeps to it. */
export async function learnRights(): Promise<void> {
  try {
    const me = await get<Identity>('v1/auth/whoami')
    if (!me.accessControl || me.owner) {
      rights.value = null
      return
    }
    const roles = new Map((await get<RoleList>('v1/roles')).items.map((r) => [r.name, r.permissions.map((p) => p.split(':'))]))
    rights.value = { user: me.user, given: me.rules.map((r) => ({ scope: r.scope, permissions: roles.get(r.role) ?? [] })) }
  } catch {
    return // the server says what is wrong, and no to what it refuses
  }
  setTimeout(() => void learnRights(), every)
}

/** Reports whether a project is a scope, or stands below it. */
function below(project: string, scope: string): boolean {
  const all = cluster.value?.projects ?? []
  for (let at: string | undefined = project, n = 0; at && n < 64; n++) {
    if (at === scope) return true
    const name: string = at
    at = all.find((p) => p.name === name)?.parent
  }
  return scope === '-'
}

const nounOf: Record<string, string> = { workspace: 'workspaces', inference: 'inferences' }

/** Why something is not done in a project ('-': the system; empty: anywhere) to what belongs to an owner; undefined: it may be tried. */
export function mayNot(verb: string, noun: string, project: string, owner?: string): string | undefined {
  const known = rights.value
  if (!known) return undefined
  const work = noun === 'trainings' || noun === 'workspaces' || noun === 'inferences'
  const yes = known.given.some((r) => (!project || below(project, r.scope)) && r.permissions.some(([v, n, own]) =>
    (v === '*' || v === verb) && (n === '*' || n === noun || (work && n === 'workloads')) && (!own || owner === undefined || owner === known.user)))
  return yes ? undefined : phrase(T.$noRoleOfYours, { permission: verb + ':' + noun })
}

/** Where who is signed in may submit, if that is not the usual project; undefined: it is, or it is not known. */
export function ownProject(): string | undefined {
  if (!mayNot('create', 'trainings', 'default')) return undefined
  return (cluster.value?.projects ?? []).find((p) => !p.department && !mayNot('create', 'trainings', p.name))?.name
}

/** mayNot, of a workload. */
export const mayNotWork = (verb: string, w: { kind: string; project: string; user: string }): string | undefined => mayNot(verb, nounOf[w.kind] ?? 'trainings', w.project, w.user)
