// Weeks of the calendar as ISO 8601 names them: from Monday on, the first with the 4th of January.

/** The Monday on or before a day, at its beginning in local time. */
export function monday(d: Date): Date {
  return new Date(d.getFullYear(), d.getMonth(), d.getDate() - ((d.getDay() + 6) % 7))
}

/** So many weeks later; a change of the clocks in between changes nothing. */
export const later = (d: Date, weeks: number): Date => new Date(d.getFullYear(), d.getMonth(), d.getDate() + 7 * weeks)

/** The name of the week of a Monday: 2026-W47. */
export function weekName(d: Date): string {
  const thursday = new Date(d.getFullYear(), d.getMonth(), d.getDate() + 3)
  const first = monday(new Date(thursday.getFullYear(), 0, 4))
  return `${thursday.getFullYear()}-W${String(1 + Math.round((d.getTime() - first.getTime()) / (7 * 86400_000))).padStart(2, '0')}`
}

/** The Monday of a week's name; null: it is none. */
export function weekNamed(name: string | null): Date | null {
  const m = /^(\d{4})-W(\d\d)$/.exec(name ?? '')
  if (!m) return null
  const d = later(monday(new Date(Number(m[1]), 0, 4)), Number(m[2]) - 1)
  return weekName(d) === name ? d : null
}
