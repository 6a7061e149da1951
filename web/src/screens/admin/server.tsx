import { apiURL } from '../../api/client'
import type { ClusterList, ServerStatus, Version } from '../../api/types'
import { now } from '../../lib/clock'
import { moment, ms, span } from '../../lib/format'
import { useLive } from '../../live/fetch'
import { cluster, session } from '../../live/store'
import { lastHeard, streamState } from '../../live/stream'
import { Card, Facts, Failure, Loading } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { python } from '../../work/acts'

const links: [string, string, string][] = [
  ['metrics', 'Metrics', 'for Prometheus'], ['docs', 'API', 'every operation'], ['openapi.json', 'OpenAPI', 'the exact contract'], ['v1/schema', 'Document', 'every field of it'], ['readyz', 'Ready', 'what probes ask'], ['ui/licences.txt', 'Licences', 'of what these pages are made of'],
]

/** The server itself. */
export function Server() {
  const status = useLive<ServerStatus>('v1/server', () => streamState.value)
  const version = useLive<Version>('version', () => streamState.value)
  const clusters = useLive<ClusterList>('v1/clusters', () => cluster.value)
  const s = status.data
  if (status.error && !s) return <Failure error={status.error} again={status.again} />
  if (!s || !version.data) return <Loading what="Loading the server" rows={4} />
  return (
    <>
      <div class="toolbar"><span class="muted">One program: server, scheduler and these pages.</span><div class="toolbar-end"><CopyAs of={() => ({ cli: 'muster server status', python: python('client.request("GET", "/v1/server")'), curl: curl('v1/server') })} /></div></div>
      <div class="server-cards">
        <Card title="Server">
          <Facts of={[
            ['Version', <>{version.data.version}{version.data.commit && <span class="muted"> {version.data.commit.slice(0, 10)}</span>}</>],
            ['Go', version.data.go], ['API', version.data.api], ['Process', s.pid], ['Address', s.address || 'its socket only'], ['Data', <code>{s.dataDir}</code>],
            ['Up for', <>{span(now.value - ms(s.startedAt))} <span class="muted">since {moment(s.startedAt, now.value, false)}</span></>],
            !!s.fakeGpus && ['Fake GPUs', `${s.fakeGpus}, for trying things out`],
          ]} />
        </Card>
        <Card title="You">
          <Facts of={[
            ['User', session.value?.user], ['By', session.value?.by],
            !!session.value?.expiresAt && ['Logged in until', moment(session.value.expiresAt, now.value, false)],
            ['Stream', `${streamState.value}${lastHeard.value ? '' : ', nothing heard yet'}`],
          ]} />
        </Card>
        <Card title="Clusters">
          {clusters.data?.items.length ? (
            <div class="scroll-x" tabIndex={0} role="region" aria-label="Clusters">
              <table class="plain rows">
                <thead><tr><th scope="col">Cluster</th><th scope="col">Kind</th><th scope="col">Answers</th><th scope="col" data-align="end">Free GPUs</th></tr></thead>
                <tbody>{clusters.data.items.map((c) => <tr key={c.name}><th scope="row">{c.name}</th><td>{c.kind}</td><td>{c.reachable ? 'yes' : <span class="field-bad">no: {c.message}</span>}</td><td data-align="end">{c.gpuMilli.free / 1000} of {c.gpuMilli.total / 1000}</td></tr>)}</tbody>
              </table>
            </div>
          ) : clusters.error ? <Failure error={clusters.error} /> : <p class="muted">None.</p>}
        </Card>
        <Card title="Elsewhere">
          <ul class="links">{links.map(([to, name, about]) => <li key={to}><a href={apiURL(to)} target="_blank" rel="noreferrer">{name}</a> <span class="muted">{about}</span></li>)}</ul>
        </Card>
      </div>
    </>
  )
}
