import { get, request, send, workloadURL } from '../../api/client'
import type { Draft, Field, NewTemplate, Template, TemplateList, Workload } from '../../api/types'
import { shell } from '../../lib/format'
import { heredoc } from '../../lib/quote'
import { yaml } from '../../lib/yaml'
import { useLive } from '../../live/fetch'
import { cluster, session } from '../../live/store'
import { Age, Button, Empty, Failure, Link, Loading } from '../../ui/basics'
import { askFor, given, list, type Input, type Values } from '../../ui/ask'
import { CopyAs, curl, type Said } from '../../ui/copyas'
import { ask, complain, toast } from '../../ui/overlay'
import { undoing } from '../../ui/undo'
import { python } from '../../work/acts'
import { bare, type Doc } from '../submit/doc'
import { mayNot } from '../../live/may'
import { phrase, T } from '../../texts'

type Kind = Template['kind']

const path = (project: string, kind: Kind, name = ''): string => `v1/projects/${encodeURIComponent(project)}/${kind}s${name && '/' + encodeURIComponent(name)}`

interface About { word: string; title: string; about: string; first: string }

/** What there is to say of each kind, and what a new one begins with. */
const kinds: Record<Kind, About> = {
  template: { word: T.$template, title: T.$templates, about: T.$partialDocumentsToCreate, first: 'command: python3 train.py\nresources:\n  gpu: 1\n' },
  environment: { word: T.$environment, title: T.$environments, about: T.$imagesWithCommandVariables, first: 'image: pytorch/pytorch:2.5.1\n' },
  compute: { word: T.$computeResource, title: T.$computeResources, about: T.$whatEachTaskNeedsGPUsOrA, first: 'resources:\n  gpu: 1\n  cpu: 4\n  memory: 16Gi\n' },
  datasource: { word: T.$dataSource, title: T.$dataSources, about: T.$dataAndItsPathInATask, first: 'volumes:\n  - hostPath: /srv/data\n    path: /data\n    readOnly: true\n' },
  datavolume: { word: T.$dataVolume, title: T.$dataVolumes, about: T.$volumesThatAProjectShares, first: 'volumes:\n  - hostPath: /srv/corpus\n    path: /corpus\n' },
}

/** What only one kind says. */
const own: Partial<Record<Kind, Input[]>> = {
  template: [{ name: 'environment', note: T.$theEnvironmentItUses }],
  datavolume: [{ name: 'sharedWith', note: T.$projectsAndDepartmentsThat }],
}

const system = '-' // where a project's name stands: what is there for all

const where = (project: string): string => (project === system ? T.$allProjects : project)

/** What rights call them. */
const nouns: Record<Kind, string> = { template: 'templates', environment: 'environments', compute: 'compute-resources', datasource: 'data-sources', datavolume: 'data-volumes' }

/** Assets of every project. */
export function Templates() {
  return <>{(Object.keys(kinds) as Kind[]).map((k) => <Some key={k} kind={k} />)}</>
}

function Some({ kind }: { kind: Kind }) {
  const { data, error, again } = useLive<TemplateList>(path('-', kind), 'never')
  const { word, title, about } = kinds[kind]
  if (error && !data) return <Failure error={error} again={again} />
  if (!data) return <Loading what={phrase(T.$loadingWord, { word })} rows={3} />
  return (
    <section class="kept">
      <div class="toolbar">
        <h2>{title}</h2>
        <span class="muted">{about}</span>
        <div class="toolbar-end">
          <CopyAs of={() => ({ cli: `muster ${kind} list --all`, python: python(`for t in client.assets("${kind}", project="-"):`, '    print(t["name"], t["version"])'), curl: curl(path('-', kind)) })} />
          <Button kind="main" refused={mayNot('create', nouns[kind], '')} onClick={() => edit(kind, null, {}, again)}>{phrase(T.$newWord, { word })}</Button>
        </div>
      </div>
      {data.items.length === 0 ? <Empty icon="bookmark" title={phrase(T.$noneOfThisKindYetWord, { word })}>{kind === 'template' && <p>{T.$toCreateOneFromAWorkload}</p>}</Empty> : (
        <div class="card scroll-x" tabIndex={0} role="region" aria-label={word + 's'}>
          <table class="plain rows">
            <thead><tr><th scope="col">{T.$name}</th><th scope="col">{T.$project}</th><th scope="col">{T.$content}</th>{kind === 'template' && <th scope="col">{T.$environment2}</th>}{kind === 'datavolume' && <th scope="col">{T.$sharedWith}</th>}<th scope="col" data-align="end">{T.$version}</th><th scope="col">{T.$changedBy}</th><th scope="col">{T.$changed}</th><th scope="col"><span class="sr">{T.$actions}</span></th></tr></thead>
            <tbody>{data.items.map((t) => <Row key={t.project + t.name} t={t} again={again} />)}</tbody>
          </table>
        </div>
      )}
    </section>
  )
}

function Row({ t, again }: { t: Template; again: () => void }) {
  const me = session.value?.user
  const no = me && t.user !== me && !t.editors?.some((e) => e === me || e === '*') ? phrase(T.$createdByUserYouAreNotOne, { user: t.user }) : undefined
  const remove = async (): Promise<void> => {
    if (!(await ask(phrase(T.$deleteWordName, { word: kinds[t.kind].word, name: t.name }), <p>{T.$workloadsCreatedFromItAre}</p>, T.$delete))) return
    try {
      await send('DELETE', path(t.project, t.kind, t.name))
      toast(phrase(T.$deletedName, { name: t.name }), undoing(() => send('POST', path(t.project, t.kind), bodyOf(t)), () => { toast(phrase(T.$createdName, { name: t.name })); again() }))
    } catch (e) {
      complain(e)
    }
    again()
  }
  return (
    <tr>
      <th scope="row">{t.name}{t.description && <div class="muted">{t.description}</div>}</th>
      <td>{where(t.project)}</td>
      <td class="why-cell"><code>{Object.keys(t.document).sort().join(', ')}</code></td>
      {t.kind === 'template' && <td>{t.environment || <span class="none">–</span>}</td>}
      {t.kind === 'datavolume' && <td>{t.sharedWith?.join(', ') || <span class="none">–</span>}</td>}
      <td data-align="end">{t.version}</td>
      <td>{t.user}</td>
      <td><Age at={t.updatedAt} /></td>
      <td class="row-acts">
        {t.kind === 'template' && <Link to={`submit?template=${encodeURIComponent(t.project)}/${encodeURIComponent(t.name)}`} class="button quiet" aria-label={phrase(T.$useName, { name: t.name })}><span>{T.$use}</span></Link>}
        <Button kind="quiet" refused={no} onClick={() => edit(t.kind, t, {}, again)} aria-label={phrase(T.$editName, { name: t.name })}>{T.$edit}</Button>
        <Button kind="quiet" icon="trash" aria-label={phrase(T.$deleteName, { name: t.name })} refused={no} onClick={() => void remove()} />
      </td>
    </tr>
  )
}

/** What a text says, as the server reads it. */
async function documentOf(text: string): Promise<Record<string, unknown>> {
  const d = (await (await request('v1/drafts', { method: 'POST', body: text, headers: { 'Content-Type': 'application/yaml' } })).json()) as Draft
  if (d.document === undefined) throw new Error(d.problem?.errors?.[0]?.problem ?? d.problem?.detail ?? T.$notValidYAML)
  return d.document as Record<string, unknown>
}

function saidEdit(kind: Kind, t: Template | null, v: Values): Said {
  const name = t?.name ?? v.name ?? ''
  const project = t?.project ?? v.project ?? 'default'
  const flags = [...(v.description ? ['--description ' + shell(v.description)] : []), ...(v.environment ? ['--environment ' + shell(v.environment)] : []), ...list(v.sharedWith).map((p) => '--share ' + shell(p)), ...list(v.editors).map((e) => '--editor ' + shell(e))]
  return {
    cli: heredoc(`muster ${kind} ${t ? 'update' : 'create'} ${[shell(name), project === system ? '--system' : '-p ' + shell(project), ...flags].join(' ')} -f -`, (v.document ?? '').trimEnd()),
    python: python(`t = client.asset("${kind}", ${JSON.stringify(name)}, project=${JSON.stringify(project)})`, 'print(t["version"], t["document"])'),
    curl: curl(path(project, kind, name)),
  }
}

/** What makes it again as it was. */
const bodyOf = ({ name, document, description, environment, sharedWith, editors }: Template): NewTemplate =>
  ({ name, document, ...(description && { description }), ...(environment && { environment }), ...(sharedWith?.length && { sharedWith }), ...(editors?.length && { editors }) })

/** Asks for an asset, or for what it is to be now. */
function edit(kind: Kind, t: Template | null, first: Values, done: () => void): void {
  askFor({
    title: t ? phrase(T.$editWordName, { word: kinds[kind].word, name: t.name }) : phrase(T.$newWord, { word: kinds[kind].word }), yes: t ? T.$save : T.$create,
    first: t ? { description: t.description ?? '', environment: t.environment ?? '', sharedWith: (t.sharedWith ?? []).join(', '), editors: (t.editors ?? []).join(', '), document: yaml(t.document) } : { project: 'default', document: kinds[kind].first, ...first },
    inputs: (): Input[] => [
      ...(t ? [] : [{ name: 'name', required: true }, { name: 'project', options: [...(cluster.value?.projects ?? []).map((p): [string, string] => [p.name, p.department ? phrase(T.$nameDepartment, { name: p.name }) : p.name]), [system, T.$allProjects] as [string, string]], note: T.$sharedWithADepartmentItIs }]),
      { name: 'description' },
      ...(own[kind] ?? []),
      { name: 'editors', note: T.$whoMayChangeItBesidesIts },
      { name: 'document', kind: 'long' as const, required: true, note: T.$partOfAWorkloadsDocumentAs },
    ],
    said: (v) => saidEdit(kind, t, v),
    act: async (v) => {
      const name = t?.name ?? v.name!.trim()
      const body: NewTemplate = { name, document: await documentOf(v.document!), ...given(v, 'description', 'environment'), ...(list(v.sharedWith).length ? { sharedWith: list(v.sharedWith) } : {}), ...(list(v.editors).length ? { editors: list(v.editors) } : {}) }
      const now = t ? await send<Template>('PUT', path(t.project, kind, name), body) : await send<Template>('POST', path(v.project!, kind), body)
      toast(phrase(T.$savedNameVersionVersion, { name, version: now.version }), t ? undoing(() => send('PUT', path(t.project, kind, name), bodyOf(t)), () => { toast(phrase(T.$changedName, { name })); done() }) : {})
      done()
    },
  })
}

/** Asks for the name of a template that a workload is kept as. */
export async function keepForm(w: { name: string; project: string }): Promise<void> {
  const [{ spec }, schema] = await Promise.all([get<Workload>(workloadURL(w.project, w.name)), get<Field>('v1/schema')])
  const { name: _, project: __, ...rest } = bare((spec ?? {}) as Doc, schema.fields ?? [])
  edit('template', null, { project: w.project, name: w.name, document: yaml(rest) }, () => {})
}
