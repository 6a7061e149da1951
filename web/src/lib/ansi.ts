// Colours of terminals. Only colours and weights are understood; every other
// escape, and every control character, is taken out and never interpreted.

export interface Span { text: string; style: string }

// CSI … final, OSC … BEL or ST, other two-character escapes.
const escapes = /\x1b(?:\[([0-9;:?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_=>()#%*+][0-9A-Za-z]?)/g
const controls = /[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u202a-\u202e\u2066-\u2069]/g

const names = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']

interface State { fg: string; bg: string; bold: boolean; dim: boolean; italic: boolean; under: boolean; inverse: boolean }

const fresh = (): State => ({ fg: '', bg: '', bold: false, dim: false, italic: false, under: false, inverse: false })

/** Of 256 colours the first 16 are the theme's; the rest comes nearest to one of them. */
function indexed(n: number): string {
  if (n < 16) return (n > 7 ? 'bright-' : '') + names[n % 8]
  if (n >= 232) return n < 244 ? 'bright-black' : 'white'
  const c = n - 16
  const level = (n: number): number => n && 55 + 40 * n // as terminals have it
  return nearest(level(Math.floor(c / 36)), level(Math.floor(c / 6) % 6), level(c % 6))
}

function nearest(r: number, g: number, b: number): string {
  const top = Math.max(r, g, b)
  if (top < 60) return 'bright-black'
  const bit = (v: number): number => (v > top * 0.5 ? 1 : 0)
  const n = bit(r) + 2 * bit(g) + 4 * bit(b)
  return n === 7 ? (top > 140 ? 'white' : 'bright-black') : names[n]!
}

function apply(s: State, args: number[]): void {
  for (let i = 0; i < args.length; i++) {
    const n = args[i]!
    if (n === 0) Object.assign(s, fresh())
    else if (n === 1) s.bold = true
    else if (n === 2) s.dim = true
    else if (n === 3) s.italic = true
    else if (n === 4) s.under = true
    else if (n === 7) s.inverse = true
    else if (n === 22) s.bold = s.dim = false
    else if (n === 23) s.italic = false
    else if (n === 24) s.under = false
    else if (n === 27) s.inverse = false
    else if (n >= 30 && n <= 37) s.fg = names[n - 30]!
    else if (n === 39) s.fg = ''
    else if (n >= 40 && n <= 47) s.bg = names[n - 40]!
    else if (n === 49) s.bg = ''
    else if (n >= 90 && n <= 97) s.fg = 'bright-' + names[n - 90]!
    else if (n >= 100 && n <= 107) s.bg = 'bright-' + names[n - 100]!
    else if (n === 38 || n === 48) {
      let color = ''
      if (args[i + 1] === 5) {
        color = indexed(args[i + 2] ?? 0)
        i += 2
      } else if (args[i + 1] === 2) {
        color = nearest(args[i + 2] ?? 0, args[i + 3] ?? 0, args[i + 4] ?? 0)
        i += 4
      }
      if (n === 38) s.fg = color
      else s.bg = color
    }
  }
}

function classes(s: State): string {
  const [fg, bg] = s.inverse ? [s.bg || 'default', s.fg || 'default'] : [s.fg, s.bg]
  return [fg && 'fg-' + fg, bg && 'bg-' + bg, s.bold && 'bold', s.dim && 'dim', s.italic && 'italic', s.under && 'under'].filter(Boolean).join(' ')
}

const clean = (s: string): string => s.replace(controls, '')

/** A line without escapes and control characters. */
export const plain = (line: string): string => (line.includes('\x1b') ? line.replace(escapes, '') : line).replace(controls, '')

/** A line in parts that look the same. */
export function spans(line: string): Span[] {
  if (!line.includes('\x1b')) return [{ text: clean(line), style: '' }]
  const out: Span[] = []
  const s = fresh()
  let at = 0
  const push = (text: string): void => {
    const t = clean(text)
    if (t) out.push({ text: t, style: classes(s) })
  }
  for (const m of line.matchAll(escapes)) {
    push(line.slice(at, m.index))
    at = m.index + m[0].length
    if (m[2] === 'm') apply(s, (m[1] || '0').split(/[;:]/).map(Number))
  }
  push(line.slice(at))
  return out
}

/** What a line is after all that overwrote it: progress bars write themselves anew. */
export function settled(line: string): string {
  if (line.endsWith('\r')) line = line.slice(0, -1)
  const i = line.lastIndexOf('\r')
  return i < 0 ? line : line.slice(i + 1)
}
