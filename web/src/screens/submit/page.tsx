import { useEffect, useRef, useState } from 'preact/hooks'
import { asError, get, workloadURL, type ApiError } from '../../api/client'
import type { EffectivePolicy, PolicyField, SecretList, Template, TemplateList, Workload } from '../../api/types'
import { plural, shell } from '../../lib/format'
import { heredoc, pyText } from '../../lib/quote'
import { go, setQuery, workloadPath } from '../../lib/router'
import { useLive } from '../../live/fetch'
import { cluster } from '../../live/store'
import type { ScreenProps } from '../../screen'
import { Button, Failure, Loading, Page } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { complain, toast } from '../../ui/overlay'
import { named, pyNamed, python } from '../../work/acts'
import { Editor } from './editor'
import { Form } from './form'
import { Notes, PasteBox } from './paste'
import { Plan } from './plan'
import { ownProject } from '../../live/may'
import { isMap } from './doc'
import { beginWith, change, conversion, convert, copyOf, doc, draft, loadSchema, plan, problems, replace, schema, schemaError, show, shown, stale, submit, taken, target, text, texts, write } from './state'
import { phrase, T } from '../../texts'

const presets: [string, string][] = [
  [T.$oneGPU, 'command: python3 train.py\nresources:\n  gpu: 1\n'],
  [T.$gang, 'kind: distributed\ncommand: torchrun train.py\nworkers: 4\nresources:\n  gpu: 1\n'],
  [T.$workspace, 'kind: workspace\ncommand: jupyter lab --ip 0.0.0.0 --port 8888\nports: [8888]\nresources:\n  gpu: 1\n'],
  [T.$service, 'kind: inference\ncommand: python3 serve.py --port $PORT\nports: [8000]\nreplicas: 1\nresources:\n  gpu: 1\n'],
  [T.$array, 'command: python3 sweep.py --trial $MUSTER_TASK_INDEX\narray:\n  completions: 8\nresources:\n  gpu: 1\n'],
]

const again = 5000 // ms between plans of the same document while the cluster changes

/** Plans anew when something has changed in the cluster, but seldom. */
function useFreshPlans(): void {
  const last = useRef(0)
  const seen = cluster.value
  useEffect(() => {
    const wait = Math.max(300, last.current + again - performance.now())
    const t = setTimeout(() => {
      last.current = performance.now()
      plan(0)
    }, wait)
    return () => clearTimeout(t)
  }, [seen])
}

/** The assets that the document's project can use. */
const useAssets = (): Template[] => useLive<TemplateList>(`v1/projects/${encodeURIComponent(String(doc.value?.project ?? 'default'))}/assets`, 'never').data?.items ?? []

/** What policies say of the document's fields. */
const useRules = (): PolicyField[] => {
  const of = (name: string, usual: string): string => encodeURIComponent(String(doc.value?.[name] ?? usual))
  return useLive<EffectivePolicy>(`v1/projects/${of('project', 'default')}/effective-policies/${of('kind', 'training')}`, 'never').data?.fields ?? []
}

/** Names an asset in the document; what this says itself holds. */
function name(t: Template): void {
  if (t.kind !== 'datasource' && t.kind !== 'datavolume') return change(t.kind, t.name)
  const has = Array.isArray(doc.value?.data) ? doc.value.data : []
  if (!has.some((x) => x === t.name || (isMap(x) && x.name === t.name))) change('data', [...has, t.name])
}

/** What is kept to begin with, and to put beside what the document says. */
function Kept({ assets }: { assets: Template[] }) {
  const templates = useLive<TemplateList>('v1/projects/-/templates', 'never').data?.items ?? []
  const of = (...kinds: Template['kind'][]): Template[] => assets.filter((a) => kinds.includes(a.kind))
  const pick = (title: string, first: string, all: Template[], take: (t: Template) => unknown) => all.length > 0 && (
    <label class="pick">{title} <select value="" onChange={(e) => {
      const t = all[Number(e.currentTarget.value)]
      if (e.currentTarget.value && t) void take(t)
      e.currentTarget.value = ''
    }}>
      <option value="">{first}</option>
      {all.map((t, i) => <option key={t.project + t.name} value={i}>{t.name}{t.project !== 'default' && ` (${t.project})`}</option>)}
    </select></label>
  )
  return (
    <div class="toolbar-end">
      {pick(T.$template2, 'choose', templates, (t) => beginWith(t).catch((e) => complain(e, T.$couldNotLoad)))}
      {doc.value && pick(T.$environment2, 'choose', of('environment'), name)}
      {doc.value && pick(T.$computeResource2, 'choose', of('compute'), name)}
      {doc.value && pick(T.$data, 'add', of('datasource', 'datavolume'), name)}
    </div>
  )
}

/** Takes files that are dropped anywhere on the page. */
function useDrop(): boolean {
  const [over, setOver] = useState(false)
  useEffect(() => {
    const has = (e: DragEvent): boolean => !!e.dataTransfer && [...e.dataTransfer.types].some((t) => t === 'Files' || t === 'text/plain')
    const drag = (e: DragEvent): void => {
      if (!has(e)) return
      e.preventDefault()
      setOver(true)
    }
    const leave = (e: DragEvent): void => {
      if (!e.relatedTarget) setOver(false)
    }
    const drop = (e: DragEvent): void => {
      setOver(false)
      if (!has(e)) return
      e.preventDefault()
      const f = e.dataTransfer!.files[0]
      if (f) void f.text().then((t) => convert(t, f.name))
      else void convert(e.dataTransfer!.getData('text/plain'), T.$theDroppedText)
    }
    document.addEventListener('dragover', drag)
    document.addEventListener('dragleave', leave)
    document.addEventListener('drop', drop)
    return () => {
      document.removeEventListener('dragover', drag)
      document.removeEventListener('dragleave', leave)
      document.removeEventListener('drop', drop)
    }
  }, [])
  return over
}

export function Submit({ query }: ScreenProps) {
  const [busy, setBusy] = useState(false)
  const [refused, setRefused] = useState<ApiError | null>(null)
  const [secrets, setSecrets] = useState<string[]>([])
  const sent = useRef(new Map<string, Workload>())
  const over = useDrop()
  const assets = useAssets()
  const rules = useRules()
  useFreshPlans()
  const verb = (['revise', 'update'] as const).find((v) => query.has(v))
  const from = query.get(verb ?? 'from') ?? query.get('template') ?? ''
  const flags = query.get('with') ?? ''
  const without = query.get('without') ?? ''
  const to = target.value
  useEffect(() => {
    void loadSchema().then(() => {
      const [project, name] = from.split('/')
      if (!project || !name) return plan(0)
      if (query.has('template')) get<Template>(`v1/projects/${encodeURIComponent(project)}/templates/${encodeURIComponent(name)}`).then(beginWith).catch((e) => complain(e, T.$couldNotLoad))
      else copyOf(project, name, verb ? { project, name, verb } : null, flags, without).catch((e) => complain(e, T.$couldNotCopy))
      setQuery({ from: null, revise: null, update: null, with: null, without: null, template: null })
    })
  }, [])
  const project = String(doc.value?.project ?? 'default')
  useEffect(() => {
    const lists = ['v1/secrets', `v1/projects/${encodeURIComponent(project)}/secrets`].map((path) => get<SecretList>(path).then((l) => l.items.map((s) => s.name)).catch(() => [])) // it can be typed as well
    void Promise.all(lists).then((names) => setSecrets([...new Set(names.flat())]))
  }, [project])
  useEffect(() => setRefused(null), [text()])
  const own = ownProject()
  useEffect(() => {
    if (own && !to && many === 1 && doc.peek()?.project === undefined) change('project', own) // where it would be refused, it is not begun with
  }, [own, doc.value?.project === undefined])

  const many = texts.value.length
  const wrong = problems().length
  const no = draft.value?.problem ? (wrong === 1 ? T.$theDocumentHasAProblem : phrase(T.$theDocumentHasWrong, { wrong })) : undefined
  const act = async (): Promise<void> => {
    if (busy) return
    setBusy(true)
    try {
      const w = await submit(sent.current)
      taken()
      if (w) {
        toast(many > 1 ? phrase(T.$submittedWorkloads, { workloads: plural(many, T.$nWorkloads) }) : `${to ? (to.verb === 'update' ? T.$updating : T.$restarted) : T.$submitted} ${w.name}`)
        go(many > 1 ? 'workloads' : workloadPath(w.project, w.name))
      }
    } catch (e) {
      setRefused(asError(e))
      plan(0)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Page title={to ? phrase(T.$editName, { name: to.name }) : T.$submit} class="submit" sub={to
      ? <><span>{to.verb === 'update' ? T.$theServiceStaysAvailable : T.$theWorkloadRunsAgainWith}</span><button type="button" class="linklike" onClick={() => (target.value = null)}>{T.$submitANewWorkloadInstead}</button></>
      : <span>{T.$whatToRunWhatItNeedsAnd}</span>} actions={<>
      <CopyAs of={() => ({
        cli: heredoc(to ? `muster update ${named(to)} -f -${to.verb === 'revise' ? ' --restart --yes' : ''}` : 'muster run -f -', text().trimEnd()),
        python: python(`document = ${pyText(text())}`, `w = client.${to ? to.verb : 'submit'}(${to ? pyNamed(to, 'document') : 'document'})`, 'print(w.name)'),
        curl: curl(to ? workloadURL(to.project, to.name) + ':' + to.verb : 'v1/projects/-/workloads', { method: 'POST' }).replace(/ \\\n {2}'http/, () => ` \\\n  -H 'Content-Type: application/yaml' --data-binary ${shell(text())} \\\n  'http`),
      })} />
      <Button kind="main" icon="upload" refused={no ?? (busy ? T.$submitting : undefined)} onClick={() => void act()}>{to ? (to.verb === 'update' ? T.$update : T.$restart) : many > 1 ? phrase(T.$submitMany, { many }) : T.$submit}</Button>
    </>}>
      {over && <div class="drop-here" aria-hidden="true">{T.$dropTheFileToConvertIt}</div>}
      <PasteBox />
      <Notes />
      {refused && <Failure error={refused} />}
      <div class="toolbar submit-bar">
        <div class="presets" role="group" aria-label={T.$startFrom}>
          {presets.map(([name, t]) => <button key={name} type="button" aria-pressed={many === 1 && text() === t} onClick={() => { conversion.value = target.value = null; replace([t]) }}>{name}</button>)}
        </div>
        <Kept assets={assets} />
        {many > 1 && (
          <div class="segments small" role="group" aria-label={T.$documentsInTheFile}>
            {texts.value.map((t, i) => <button key={i} type="button" aria-pressed={i === shown.value} onClick={() => show(i)}>{/^name: *(\S+)/m.exec(t)?.[1] ?? i + 1}</button>)}
          </div>
        )}
      </div>
      <div class="submit-sides">
        {schemaError.value ? <Failure error={schemaError.value} again={() => void loadSchema()} /> : !schema.value ? <Loading what={T.$loadingTheForm} rows={8} /> : <Form schema={schema.value} secrets={secrets} assets={assets} rules={rules} />}
        <div class="submit-side">
          <Plan />
          <section class="yaml-card" aria-label="YAML">
            <header><h2>YAML</h2><span class="muted" id="yaml-about">{doc.value === null && !stale.value ? T.$notValid : wrong > 0 && !stale.value ? plural(wrong, T.$nProblems) : T.$sameAsTheForm}</span></header>
            <Editor value={text()} onChange={write} onFile={(t) => void convert(t, T.$thePastedText)} problems={stale.value ? [] : problems()} describedBy="yaml-about" />
          </section>
        </div>
      </div>
    </Page>
  )
}
