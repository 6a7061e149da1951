import { csvCell } from './format'

/** Lets the browser save a text as a file. */
export function saveText(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const a = document.createElement('a')
  a.href = url
  a.download = name
  a.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

/** Lines of values as a CSV file. */
export const csv = (lines: (string | number)[][]): string => lines.map((l) => l.map((c) => csvCell(String(c))).join(',')).join('\r\n') + '\r\n'
