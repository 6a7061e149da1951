import { formOf, locale, phrase, T } from '../texts'
// How numbers and times are written. Everything here is pure: what depends on
// the present is given it.

/** Milliseconds since 1970 of an API time; NaN for none. */
export const ms = (t: string | undefined | null): number => (t ? Date.parse(t) : NaN)

const units: [number, string][] = [[86400, 'd'], [3600, 'h'], [60, 'm'], [1, 's']]

/** A length of time in its two largest units: 3d 4h, 12m, 45s. */
export function span(milliseconds: number): string {
  if (!Number.isFinite(milliseconds)) return '–'
  let s = Math.max(0, Math.round(milliseconds / 1000))
  if (s === 0) return milliseconds > 0 && milliseconds < 500 ? `${Math.round(milliseconds)}ms` : '0s'
  const parts: string[] = []
  for (const [size, name] of units) {
    const n = Math.floor(s / size)
    if (n > 0 || parts.length > 0) {
      if (n > 0) parts.push(n + name)
      s -= n * size
      if (parts.length === 2 || n === 0) break
      if (name === 'm' && parts.length === 1 && n >= 10) break // seconds beside ten minutes are noise
    }
  }
  return parts.join(' ')
}

/** How long ago something was, in its largest unit. */
export function ago(t: string | undefined | null, now: number): string {
  const d = now - ms(t)
  if (Number.isNaN(d)) return '–'
  if (d < 0) return d > -5000 ? T.$now : phrase(T.$inTime, { time: span(-d).split(' ')[0] })
  return d < 1000 ? T.$now : span(d).split(' ')[0]!
}

const two = (n: number): string => String(n).padStart(2, '0')

/** A moment in local time; the day only where it is not today. */
export function moment(t: string | number | undefined | null, now: number, seconds = true): string {
  const d = new Date(typeof t === 'number' ? t : ms(t))
  if (Number.isNaN(d.getTime())) return '–'
  const clock = two(d.getHours()) + ':' + two(d.getMinutes()) + (seconds ? ':' + two(d.getSeconds()) : '')
  const today = new Date(now)
  if (d.toDateString() === today.toDateString()) return clock
  const day = d.toLocaleDateString(locale, { day: 'numeric', month: 'short' })
  return (d.getFullYear() === today.getFullYear() ? day : `${day} ${d.getFullYear()}`) + ' ' + clock
}

/** A moment whole, with its zone and in UTC, for tooltips. */
export function exact(t: string | undefined | null): string {
  const d = new Date(ms(t))
  if (Number.isNaN(d.getTime())) return ''
  const local = d.toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'long' })
  return d.getTimezoneOffset() === 0 ? local : `${local} · ${d.toISOString().slice(0, 19)}Z`
}

const three = (n: number): string => String(n).padStart(3, '0')

/** A time of a log in local time, to the millisecond. */
export function logTime(t: string): string {
  const d = new Date(ms(t))
  return Number.isNaN(d.getTime()) ? '' : `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}.${three(d.getMilliseconds())}`
}

/** A text of the server with its times, which are in UTC, as moments in local time. */
export const localTimes = (text: string, now: number): string => text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (t) => moment(t, now))

/** A count with thin groups: 12 345. */
export const count = (n: number): string => (Math.abs(n) < 10000 ? String(n) : n.toLocaleString('en-US').replaceAll(',', '\u202f'))

/** A number of GPUs: whole, or up to three places. */
export const gpus = (n: number): string => String(Math.round(n * 1000) / 1000)

/** A number as precise as its size asks for, or as the distance to the next on an axis does. */
export const figure = (n: number, step = Math.abs(n) / 10): string => String(Number(n.toFixed(Math.max(0, Math.min(6, Math.floor(-Math.log10(step)) + 2)))))

/** An amount of bytes. */
export function bytes(n: number): string {
  if (n < 1024) return n + ' B'
  const names = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB']
  let i = -1
  do {
    n /= 1024
    i++
  } while (n >= 1024 && i < names.length - 1)
  return (n < 10 ? n.toFixed(1) : String(Math.round(n))) + ' ' + names[i]
}

/** A text in the form of a number, with it as {n}. */
export const plural = (n: number, text: string): string => phrase(formOf(text, n), { n: Math.abs(n) < 10000 ? gpus(n) : count(n) } as Record<never, string>)

/** Text as an argument of a shell. */
export const shell = (s: string): string => (/^[A-Za-z0-9_@%+=:,./-]+$/.test(s) ? s : "'" + s.replaceAll("'", `'\\''`) + "'")

/** A cell of a CSV file. What a spreadsheet would take for a formula is kept from it. */
export function csvCell(s: string): string {
  if (/^[=+\-@\t\r]/.test(s) && !/^[+-]?\d+(\.\d+)?$/.test(s)) s = "'" + s
  return /[",\n\r]/.test(s) ? '"' + s.replaceAll('"', '""') + '"' : s
}
