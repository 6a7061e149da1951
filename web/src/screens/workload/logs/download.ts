// All tasks' output as one file. The server merges it page by page, and no page
// of it is kept by the browser but as a part of the file.
import { get, params, workloadURL } from '../../../api/client'
import type { LogPage, Workload } from '../../../api/types'
import { plain } from '../../../lib/ansi'
import { saveText } from '../../../lib/save'

const most = 64 << 20 // characters that a file has at most

/** Saves the output of an attempt's tasks in the order of time, each line after its task; false: only its begin, as there is too much. */
export async function download(w: Workload, attempt: number, signal: AbortSignal): Promise<boolean> {
  const parts: string[] = []
  let length = 0
  for (let after = '0@0'; ; ) {
    const p = await get<LogPage>(workloadURL(w.project, w.name) + '/logs/merged' + params({ attempt: String(attempt), after, limit: 5000 }), signal)
    const text = p.lines.map((l) => `${l.task}: ${plain(l.text)}\n`).join('')
    parts.push(text)
    length += text.length
    if (!p.more || length > most) {
      saveText(`${w.name}-${attempt}.log`, 'text/plain', parts.join(''))
      return !p.more
    }
    after = p.after
  }
}
