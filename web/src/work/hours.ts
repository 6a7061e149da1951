import { count } from '../lib/format'

/** GPU-hours of GPU-seconds, as precise as they are few. */
export function hours(seconds: number): string {
  const h = seconds / 3600
  if (h === 0) return '0'
  if (h < 0.01) return '<0.01'
  return h < 10 ? h.toFixed(2) : h < 1000 ? h.toFixed(1) : count(Math.round(h))
}
