import { apiURL } from '../../api/client'
import type { ClusterList, ServerStatus, Version } from '../../api/types'
import { now } from '../../lib/clock'
import { moment, ms, span } from '../../lib/format'
import { useLive } from '../../live/fetch'
import { cluster, session } from '../../live/store'
import { lastHeard, streamState } from '../../live/stream'
import { At, Card, Facts, Failure, Loading } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { python } from '../../work/acts'
import { phrase, T } from '../../texts'

const links: [string, string, string][] = [
  ['metrics', T.$metrics, T.$forPrometheus], ['docs', T.$api, T.$allOperations], ['openapi.json', 'OpenAPI', T.$theExactContract], ['v1/schema', T.$document, T.$allFields], ['readyz', T.$readiness, T.$forProbes], ['ui/licences.txt', T.$licenses, T.$ofTheLibrariesInThesePages],
]

/** The server itself. */
export function Server() {
  const status = useLive<ServerStatus>('v1/server', () => streamState.value)
  const version = useLive<Version>('version', () => streamState.value)
  const clusters = useLive<ClusterList>('v1/clusters', () => cluster.value)
  const s = status.data
  if (status.error && !s) return <Failure error={status.error} again={status.again} />
  if (!s || !version.data) return <Loading what={T.$loadingTheServer} rows={4} />
  return (
    <>
      <div class="toolbar"><span class="muted">{T.$oneProgramServerScheduler}</span><div class="toolbar-end"><CopyAs of={() => ({ cli: 'muster server status', python: python('client.request("GET", "/v1/server")'), curl: curl('v1/server') })} /></div></div>
      <div class="server-cards">
        <Card title={T.$server}>
          <Facts of={[
            [T.$version, <>{version.data.version}{version.data.commit && <span class="muted"> {version.data.commit.slice(0, 10)}</span>}</>],
            [T.$go, version.data.go], [T.$api, version.data.api], [T.$processID, s.pid], [T.$address, s.address || T.$unixSocketOnly], [T.$dataDirectory, <code>{s.dataDir}</code>],
            [T.$uptime, <>{span(now.value - ms(s.startedAt))} <span class="muted">{phrase(T.$sinceTime, { time: moment(s.startedAt, now.value, false) })}</span></>],
            !!s.fakeGpus && [T.$simulatedGPUs, phrase(T.$fakeGpusForTryingThingsOut, { fakeGpus: s.fakeGpus })],
          ]} />
        </Card>
        <Card title={T.$session}>
          <Facts of={[
            [T.$user, session.value?.user], [T.$signedInBy, session.value?.by],
            !!session.value?.expiresAt && [T.$signedInUntil, <At at={session.value.expiresAt} now={now.value} />],
            [T.$liveUpdates, `${streamState.value}${lastHeard.value ? '' : T.$noMessageReceivedYet}`],
          ]} />
        </Card>
        <Card title={T.$clusters}>
          {clusters.data?.items.length ? (
            <div class="scroll-x" tabIndex={0} role="region" aria-label={T.$clusters}>
              <table class="plain rows">
                <thead><tr><th scope="col">{T.$cluster}</th><th scope="col">{T.$kind}</th><th scope="col">{T.$reachable}</th><th scope="col" data-align="end">{T.$freeGPUs}</th></tr></thead>
                <tbody>{clusters.data.items.map((c) => <tr key={c.name}><th scope="row">{c.name}</th><td>{c.kind}</td><td>{c.reachable ? T.$yes : <span class="field-bad">{phrase(T.$noMessage, { message: c.message })}</span>}</td><td data-align="end">{phrase(T.$usedOfTotal, { used: c.gpuMilli.free / 1000, total: c.gpuMilli.total / 1000 })}</td></tr>)}</tbody>
              </table>
            </div>
          ) : clusters.error ? <Failure error={clusters.error} /> : <p class="muted">{T.$none}</p>}
        </Card>
        <Card title={T.$links}>
          <ul class="links">{links.map(([to, name, about]) => <li key={to}><a href={apiURL(to)} target="_blank" rel="noreferrer">{name}</a> <span class="muted">{about}</span></li>)}</ul>
        </Card>
      </div>
    </>
  )
}
