import { useState } from 'preact/hooks'
import type { Field, PolicyField, Template } from '../../api/types'
import { gpus } from '../../lib/format'
import { cluster, projectNames } from '../../live/store'
import { expand, collapse, isMap, type Doc } from './doc'
import { AnyField, suits, Surroundings } from './fields'
import { below, change, doc, problems } from './state'
import { phrase, T } from '../../texts'

/** What most people say; the rest is below, by what it is about. */
const first = ['name', 'project', 'kind', 'priority', 'command', 'image', 'environment', 'compute', 'resources.gpu.count', 'resources.gpu.type', 'resources.cpu', 'resources.memory', 'workers', 'replicas', 'maxDuration', 'preemptible']

const groups: [string, string[]][] = [
  [T.$commandAndImage, ['args', 'workdir', 'env', 'parameters', 'namePrefix', 'tty', 'stdin', 'runAs', 'init', 'build', 'pullPolicy', 'pullSecret']],
  [T.$resources, ['resources']],
  [T.$filesAndSecrets, ['data', 'volumes', 'secrets', 'integrations', 'publish']],
  [T.$gangsAndArrays, ['framework', 'minWorkers', 'resize', 'master', 'slots', 'cleanPolicy', 'slurm', 'array']],
  [T.$services, ['ports', 'probe', 'autoscale', 'update', 'restart']],
  [T.$placement, ['pools', 'clusters', 'nodeSelector', 'nodeAffinity', 'nodeAffinityAny', 'nodeType', 'tolerations', 'topology', 'near', 'apart', 'patience']],
  [T.$schedulingAndLimits, ['after', 'notBefore', 'checks', 'idleLimit', 'gracePeriod', 'ttlAfterEnd', 'retry', 'terminateAfterPreemption']],
]

/** Free and all GPUs, by type. */
function gpuTypes(): Map<string, { free: number; total: number }> {
  const out = new Map<string, { free: number; total: number }>()
  for (const n of cluster.value?.nodes ?? []) {
    for (const d of n.devices) {
      const t = out.get(d.product) ?? { free: 0, total: 0 }
      t.total++
      if (d.healthy && !n.cordoned && !n.cutOff) t.free += (1000 - d.used) / 1000
      out.set(d.product, t)
    }
  }
  return out
}

function FreeGPUs() {
  const all = [...gpuTypes()]
  if (all.length === 0) return <>{T.$thereAreNoGPUsAtPresent}</>
  return <>{all.map(([name, t]) => phrase(T.$freeOfTotalNameFree, { free: gpus(t.free), total: t.total, name })).join(', ')}</>
}

/** The form beside the YAML. secrets are the names of those that the user has, assets those that the document's project can use, rules what policies say. */
export function Form({ schema, secrets, assets, rules }: { schema: Field; secrets: string[]; assets: Template[]; rules: PolicyField[] }) {
  const d = doc.value
  const kind = String(d?.kind ?? 'training')
  const suggest = (path: string): string[] => {
    switch (path) {
      case 'project': return projectNames.value
      case 'pools': return (cluster.value?.pools ?? []).map((p) => p.name)
      case 'resources.gpu.type': return [...gpuTypes().keys()]
      case 'environment': case 'compute': return assets.filter((a) => a.kind === path).map((a) => a.name)
      case 'data.name': return assets.filter((a) => a.kind === 'datasource' || a.kind === 'datavolume').map((a) => a.name)
      case 'secrets.name': case 'pullSecret': return secrets
      default: return []
    }
  }
  const known = new Set([...first.map((p) => p.split('.')[0]!), ...groups.flatMap(([, names]) => names)])
  const rest = (schema.fields ?? []).map((f) => f.name!).filter((n) => !known.has(n))
  return (
    <Surroundings.Provider value={{ problems: problems(), suggest, kind, rules: new Map(rules.map((r) => [r.path, r])) }}>
      <form class="submit-form" aria-label={T.$documentAsAForm} onSubmit={(e) => e.preventDefault()} data-off={d === null || undefined}>
        {d === null && <p class="form-off" role="status">{T.$theYAMLCannotBeParsedThe}</p>}
        <fieldset class="form-body" disabled={d === null}>
          <legend class="sr">{T.$document}</legend>
          <div class="field-grid essentials">
            {first.map((path) => <At key={path} path={path} schema={schema} doc={d ?? {}} kind={kind} />)}
          </div>
          {[...groups, [T.$labelsAndMore, rest] as [string, string[]]].map(([title, names]) => <Group key={title} title={title} names={names} schema={schema} doc={d ?? {}} kind={kind} />)}
        </fieldset>
      </form>
    </Surroundings.Provider>
  )
}

/** A field of any depth among those that are always shown. */
function At({ path, schema, doc: d, kind }: { path: string; schema: Field; doc: Doc; kind: string }) {
  const names = path.split('.')
  const fields: Field[] = []
  let at: Field | undefined = schema
  for (const n of names) {
    at = at?.fields?.find((f) => f.name === n)
    if (!at) return null
    fields.push(at)
  }
  if (!suits(fields[0]!, kind)) return null
  let v: unknown = d
  const values: unknown[] = []
  for (const [i, n] of names.entries()) {
    v = isMap(v) ? v[n] : undefined
    values.push(i < names.length - 1 ? (v = expand(v, fields[i]!)) : v)
  }
  const set = (x: unknown): void => {
    for (let i = names.length - 1; i > 0; i--) {
      const around = values[i - 1]
      const next: Doc = { ...(isMap(around) ? around : {}), [names[i]!]: x }
      if (x === undefined) delete next[names[i]!]
      x = collapse(next, fields[i - 1]!)
    }
    change(names[0]!, x)
  }
  const last = fields[fields.length - 1]!
  const alias = path === 'resources.gpu.count' ? { ...last, name: 'gpu', default: '0' } : path === 'resources.gpu.type' ? { ...last, name: 'gpu.type' } : last
  return <AnyField of={alias} at={path === 'resources.gpu.count' && !isMap((d.resources as Doc | undefined)?.gpu) ? 'resources.gpu' : path} value={v} set={set} quiet note={path === 'resources.gpu.count' ? <FreeGPUs /> : undefined} />
}

function Group({ title, names, schema, doc: d, kind }: { title: string; names: string[]; schema: Field; doc: Doc; kind: string }) {
  const [open, setOpen] = useState(false)
  const fields = names.map((n) => schema.fields?.find((f) => f.name === n)).filter((f): f is Field => !!f && suits(f, kind))
  if (fields.length === 0) return null
  const said = fields.filter((f) => d[f.name!] !== undefined && f.name !== 'resources').length
  const shown = new Set(first)
  const bad = problems().filter((p) => fields.some((f) => below(p.path, f.name!)) && !shown.has(p.path) && p.path !== 'resources.gpu').length
  return (
    <details class="group" open={open} onToggle={(e) => setOpen(e.currentTarget.open)} data-group={fields.map((f) => f.name).join(' ')}>
      <summary><span>{title}</span>{said > 0 && <span class="muted">{phrase(T.$saidSet, { said })}</span>}{bad > 0 && <span class="field-bad">{phrase(T.$badInvalid, { bad })}</span>}</summary>
      {open && <div class="field-grid">{fields.map((f) => <AnyField key={f.name} of={f} at={f.name!} value={d[f.name!]} set={(v) => change(f.name!, v)} />)}</div>}
    </details>
  )
}

/** Puts the cursor into the field of a path, if the form shows it. */
export function toField(path: string): boolean {
  const key = path.split(/[.[]/)[0]!
  const group = document.querySelector<HTMLDetailsElement>(`details[data-group~="${CSS.escape(key)}"]`)
  const find = (): HTMLElement | null => {
    for (let p = path; p; p = p.replace(/(\.[^.[\]]+|\[\d+\]|^[^.[\]]+)$/, '')) {
      const hit = document.querySelector<HTMLElement>(`[data-path="${CSS.escape(p)}"]`)
      if (hit) return hit
    }
    return null
  }
  const reach = (): boolean => {
    const hit = find()
    const field = hit?.querySelector<HTMLElement>('input,select,textarea')
    hit?.scrollIntoView({ block: 'center' })
    field?.focus({ preventScroll: true })
    return !!field
  }
  if (!find() && group && !group.open) {
    group.open = true
    setTimeout(reach, 50)
    return true
  }
  return reach()
}
