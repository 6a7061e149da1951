// A stretch of a chart that somebody looks at: dragged over, moved with Shift or sideways
// with the wheel, made smaller and larger with + and -, the whole again with Esc or a
// double click.
import { useState } from 'preact/hooks'

export type Range = [number, number]

interface Chart { whole: Range; seen: Range; zoomed: boolean; /** From where on the box is the chart, and how wide. */ left: number; room: number; /** How little of it may be seen. */ least: number; set: (z: Range | null) => void }

/** What a chart's box listens to, and the stretch in pixels that is being dragged over. */
export function useZoom({ whole, seen, zoomed, left, room, least, set }: Chart) {
  const [drag, setDrag] = useState<Range | null>(null)
  const [pan, setPan] = useState<[number, Range] | null>(null)
  const [lo, hi] = seen
  const at = (e: MouseEvent & { currentTarget: Element }): number => e.clientX - e.currentTarget.getBoundingClientRect().left
  const back = (px: number): number => lo + Math.max(0, Math.min(1, (px - left) / room)) * (hi - lo)
  const show = (a: number, b: number): void => {
    const wide = Math.max(least, b - a)
    const from = Math.max(whole[0], Math.min(whole[1] - wide, a))
    set(wide >= whole[1] - whole[0] ? null : [from, from + wide])
  }
  const shift = (by: number, of: Range = seen): void => show(of[0] + by, of[1] + by)
  const scale = (by: number, around: number): void => show(around - (around - lo) * by, around + (hi - around) * by)
  return {
    drag,
    /** The value below the pointer. */
    back,
    /** Reports whether a key was one of these. */
    key(e: KeyboardEvent, around: number | null): boolean {
      const by = { ArrowLeft: -0.25, ArrowRight: 0.25 }[e.key]
      if (by && e.shiftKey && zoomed) shift(by * (hi - lo))
      else if (e.key === '+' || e.key === '=') scale(0.5, around ?? (lo + hi) / 2)
      else if (e.key === '-') scale(2, around ?? (lo + hi) / 2)
      else if (e.key === 'Escape' && zoomed) set(null)
      else return false
      return true
    },
    on: {
      onPointerDown(e: PointerEvent & { currentTarget: HTMLElement }) {
        const px = at(e)
        if (e.button !== 0 || e.pointerType === 'touch' || px < left) return
        if (e.shiftKey && zoomed) setPan([px, seen])
        else setDrag([px, px])
      },
      onPointerUp() {
        if (drag && Math.abs(drag[1] - drag[0]) > 8) show(back(Math.min(...drag)), back(Math.max(...drag)))
        setDrag(null)
        setPan(null)
      },
      onDblClick: () => set(null),
      onWheel(e: WheelEvent) {
        const by = e.deltaX || (e.shiftKey ? e.deltaY : 0)
        if (!zoomed || !by) return
        e.preventDefault()
        shift((by / room) * (hi - lo))
      },
    },
    moved(e: PointerEvent & { currentTarget: HTMLElement }) {
      const px = at(e)
      if (pan) shift(((pan[0] - px) / room) * (pan[1][1] - pan[1][0]), pan[1])
      else if (drag) setDrag([drag[0], px])
    },
    left() {
      setDrag(null)
      setPan(null)
    },
  }
}
