import './style.css'
import '../../../../vendor/@xterm/xterm/css/xterm.css'
import { useEffect, useRef, useState } from 'preact/hooks'
import { apiURL, asError, params, request, workloadURL, type ApiError } from '../../../api/client'
import type { Workload } from '../../../api/types'
import { remembered, theme as chosenTheme } from '../../../lib/prefs'
import { setQuery } from '../../../lib/router'
import { Button, Empty, Failure, sentence } from '../../../ui/basics'
import { Icon } from '../../../ui/icons'
import { copy } from '../../../ui/overlay'
import { named } from '../../../work/acts'
import { mayNotWork } from '../../../live/may'
import { phrase, T } from '../../../texts'

// The channels of a web socket, as package api has them.
const stdin = 0
const ended = 3
const resize = 4

/** What a shell is, wherever it is: bash if there is one. */
const anyShell = ['sh', '-c', 'if command -v bash >/dev/null 2>&1; then exec bash; fi; exec sh']

/** Whether screen readers are told what the terminal shows. */
const spoken = remembered('terminal.spoken', false, (v): v is boolean => typeof v === 'boolean')

type State = { at: 'opening' | 'open' } | { at: 'ended'; code: number } | { at: 'lost' } | { at: 'refused'; error: ApiError }

/** A shell beside a task. */
export function Terminal({ w, query }: { w: Workload; query: URLSearchParams }) {
  const running = (w.attempts[w.attempts.length - 1]?.tasks ?? []).filter((t) => t.state === 'running')
  const wanted = query.get('task')
  const chosen = wanted === null ? running[0]?.index : Number(wanted)
  const [begun, setBegun] = useState<number | null>(null) // the task of the session that is shown
  const [tries, setTries] = useState(0)
  const task = begun ?? chosen
  useEffect(() => {
    if (begun === null && running.length > 0 && chosen !== undefined) setBegun(chosen)
  }, [running.length > 0])
  const no = mayNotWork('exec', w)
  if (no) return <Empty icon="code" title={T.$noTerminalHere}><p>{no}</p></Empty>
  if (task === undefined || (running.length === 0 && begun === null)) {
    return <Empty icon="code" title={T.$noTaskIsRunning}><p>{w.endedAt ? T.$theWorkloadHasEndedRestart : T.$aTerminalCanBeOpenedOnceA}</p></Empty>
  }
  const cli = `muster exec ${named(w)}${w.tasks.total > 1 ? ' --task ' + task : ''}`
  return (
    <>
      <div class="toolbar">
        <label class="pick">{phrase(T.$taskChoice, { choice: <select value={task} onChange={(e) => { setBegun(Number(e.currentTarget.value)); setQuery({ task: e.currentTarget.value }) }}>
          {!running.some((t) => t.index === task) && <option value={task}>{phrase(T.$taskNotRunning, { task })}</option>}
          {running.slice(0, 2000).map((t) => <option key={t.index} value={t.index}>{t.role} {t.index}{t.node ? phrase(T.$onNode2, { node: t.node }) : ''}</option>)}
        </select> })}</label>
        <div class="toolbar-end"><Button aria-pressed={spoken.value} onClick={() => (spoken.value = !spoken.value)}>{T.$screenReaderMode}</Button><Button icon="copy" onClick={() => void copy(cli)} title={cli}>{T.$copyAsACommand}</Button></div>
      </div>
      <Session key={`${task}/${tries}/${spoken.value}`} w={w} task={task} again={() => setTries(tries + 1)} />
    </>
  )
}

function Session({ w, task, again }: { w: Workload; task: number; again: () => void }) {
  const box = useRef<HTMLDivElement>(null)
  const [state, setState] = useState<State>({ at: 'opening' })
  const recolour = useRef<() => void>(() => {})
  useEffect(() => {
    let gone = false
    let close = (): void => {}
    import('./xterm').then(async (x) => {
      await document.fonts.load('13px "JetBrains Mono"').catch(() => []) // cells are measured once
      if (gone || !box.current) return
      const t = x.open(box.current, spoken.value)
      recolour.current = () => (t.terminal.options.theme = x.theme())
      const leave = connect(w, task, t.terminal, (s) => gone || setState(s))
      close = () => {
        leave()
        t.end()
      }
      t.terminal.focus()
    }, (e) => gone || setState({ at: 'refused', error: asError(e) }))
    return () => {
      gone = true
      close()
    }
  }, [])
  useEffect(() => {
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const change = (): void => recolour.current()
    change()
    dark.addEventListener('change', change)
    return () => dark.removeEventListener('change', change)
  }, [chosenTheme.value])
  if (state.at === 'refused') return <Failure error={state.error} again={again} />
  return (
    <div class="terminal-frame" data-state={state.at}>
      <div class="terminal-box" ref={box} role="group" aria-label={phrase(T.$terminalOfTaskTask, { task })} />
      <div class="terminal-foot" role="status">
        {state.at === 'opening' ? <span class="muted">{T.$opening}</span>
          : state.at === 'open' ? <span class="muted">{phrase(T.$iconConnectedTheSession, { icon: <Icon name="dot" size={10} class="terminal-on" /> })}</span>
            : <><span>{state.at === 'ended' ? phrase(T.$theShellExitedWithCodeCode, { code: state.code }) : T.$theConnectionWasLost}</span><Button icon="restart" onClick={again}>{T.$openAgain}</Button></>}
      </div>
    </div>
  )
}

type Xterm = import('@xterm/xterm').Terminal

/** Connects a terminal to a shell; returns what ends that. */
function connect(w: Workload, task: number, t: Xterm, tell: (s: State) => void): () => void {
  const path = workloadURL(w.project, w.name) + '/exec' + params({ task, tty: true, stdin: true }) + anyShell.map((a) => '&command=' + encodeURIComponent(a)).join('') + '&env=TERM%3Dxterm-256color'
  const url = new URL(apiURL(path), location.href)
  url.protocol = url.protocol.replace('http', 'ws')
  const ws = new WebSocket(url)
  ws.binaryType = 'arraybuffer'
  let state: State = { at: 'opening' }
  const now = (s: State): void => {
    state = s
    tell(s)
  }
  const text = new TextEncoder()
  const send = (channel: number, data: Uint8Array): void => {
    if (ws.readyState !== WebSocket.OPEN) return
    const m = new Uint8Array(data.length + 1)
    m[0] = channel
    m.set(data, 1)
    ws.send(m)
  }
  const size = (): void => send(resize, text.encode(JSON.stringify({ columns: t.cols, rows: t.rows })))
  ws.onopen = () => {
    size()
    now({ at: 'open' })
  }
  ws.onmessage = (e) => {
    const m = new Uint8Array(e.data as ArrayBuffer)
    if (m[0] !== ended) {
      t.write(m.subarray(1))
      return
    }
    const end = JSON.parse(new TextDecoder().decode(m.subarray(1))) as { exitCode: number; problem?: { detail: string; hint?: string } }
    if (end.problem) t.write(`\r\n\x1b[31m${sentence(end.problem.detail)}\x1b[0m\r\n`)
    now({ at: 'ended', code: end.exitCode })
  }
  ws.onclose = () => {
    if (state.at === 'open') now({ at: 'lost' })
    else if (state.at === 'opening') {
      // A browser does not say why; a plain request is told.
      request(path).then(() => now({ at: 'lost' }), (e) => {
        const err = asError(e)
        now(err.code === 'internal' && err.status === 426 ? { at: 'lost' } : { at: 'refused', error: err })
      })
    }
  }
  const typed = t.onData((s) => send(stdin, text.encode(s)))
  const bytes = t.onBinary((s) => send(stdin, Uint8Array.from(s, (c) => c.charCodeAt(0))))
  const sized = t.onResize(size)
  return () => {
    ws.onclose = ws.onmessage = null
    typed.dispose()
    bytes.dispose()
    sized.dispose()
    ws.close()
  }
}
