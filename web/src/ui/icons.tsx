// Icons, drawn for these pages on a grid of 16 with lines of 1.5. Those of states
// differ in shape, so that none is told by its colour alone.
import type { JSX } from 'preact'

const line = { fill: 'none', stroke: 'currentColor', 'stroke-width': 1.5, 'stroke-linecap': 'round', 'stroke-linejoin': 'round' } as const

const shapes = {
  // states
  clock: <g {...line}><circle cx="8" cy="8" r="5.6" /><path d="M8 5v3.2l2 1.3" /></g>,
  noentry: <g {...line}><circle cx="8" cy="8" r="5.6" /><path d="M5.2 8h5.6" stroke-width="2" /></g>,
  ring: <g {...line} stroke-width="2"><circle cx="8" cy="8" r="5.3" opacity=".28" /><path d="M8 2.7a5.3 5.3 0 0 1 5.3 5.3" /></g>,
  dot: <circle cx="8" cy="8" r="4.6" fill="currentColor" />,
  triangle: <g {...line}><path d="M8 2.6 14 13H2z" /><path d="M8 6.6v3M8 11.3v.1" /></g>,
  dots: <circle cx="8" cy="8" r="5.3" {...line} stroke-width="2" stroke-dasharray=".1 3.23" />,
  tick: <path d="m3 8.6 3.3 3.3L13 4.8" {...line} stroke-width="2" />,
  lock: <g {...line}><rect x="3.5" y="7" width="9" height="6.5" rx="1" /><path d="M5.500 7V5a2.500 2.500 0 0 1 5 0v2" /></g>,
  cross: <path d="m4 4 8 8M12 4l-8 8" {...line} stroke-width="2" />,
  square: <rect x="3.6" y="3.6" width="8.8" height="8.8" rx="1.6" fill="currentColor" />,
  back: <g {...line}><path d="M3 8.2a5 5 0 1 0 1.6-3.9" /><path d="M4.4 1.8v2.8h2.9" /></g>,
  person: <g {...line}><circle cx="8" cy="5.2" r="2.6" /><path d="M3 13.6c.5-2.8 2.5-4.1 5-4.1s4.500 1.300 5 4.100" /></g>,
  // places
  list: <path d="M2.500 4h11M2.500 8h11M2.500 12h7" {...line} />,
  overview: <g {...line}><rect x="2.2" y="2.2" width="5" height="6.600" rx="1" /><rect x="9.4" y="2.2" width="4.400" height="3.600" rx="1" /><rect x="9.400" y="8" width="4.400" height="5.800" rx="1" /><rect x="2.200" y="11" width="5" height="2.800" rx="1" /></g>,
  queue: <g {...line}><path d="M2.500 4h7M2.500 8h7M2.500 12h7" /><path d="m11.500 6.500 2.300-2.300M13.800 4.200v8" opacity=".9" /></g>,
  chip: <g {...line}><rect x="4" y="4" width="8" height="8" rx="1.500" /><path d="M6.500 1.800V4M9.500 1.800V4M6.500 12v2.200M9.500 12v2.200M1.800 6.500H4M1.800 9.500H4M12 6.500h2.200M12 9.500h2.200" /></g>,
  node: <g {...line}><rect x="2.200" y="2.700" width="11.600" height="4.300" rx="1" /><rect x="2.200" y="9" width="11.600" height="4.300" rx="1" /><path d="M4.700 4.850h.1M4.700 11.150h.1" stroke-width="2" /></g>,
  people: <g {...line}><circle cx="6" cy="5.500" r="2.300" /><path d="M1.800 13c.3-2.600 2-3.800 4.200-3.800s3.900 1.200 4.200 3.800" /><path d="M10.600 3.500a2.300 2.300 0 0 1 0 4.200M12 9.600c1.300.5 2 1.600 2.200 3.400" /></g>,
  chart: <path d="M2.500 2.500v11h11M5.500 10.500v-3M8.500 10.500V5M11.500 10.500V6.500" {...line} />,
  upload: <g {...line}><path d="M8 10.500v-8M4.800 5.500 8 2.300l3.200 3.200" /><path d="M2.500 10.500v2.200c0 .6.400 1 1 1h9c.6 0 1-.4 1-1v-2.200" /></g>,
  check: <g {...line}><path d="M8 1.800 13 3.700v4c0 3-2 5.300-5 6.500-3-1.200-5-3.500-5-6.500v-4z" /><path d="m5.800 8 1.600 1.600 2.900-3.200" /></g>,
  gear: <g {...line}><circle cx="8" cy="8" r="2.100" /><path d="M8 1.800v1.700M8 12.500v1.700M1.800 8h1.700M12.500 8h1.700M3.600 3.600l1.200 1.200M11.200 11.200l1.200 1.200M12.400 3.600l-1.200 1.200M4.800 11.200l-1.200 1.200" /></g>,
  // acts
  search: <g {...line}><circle cx="7" cy="7" r="4.500" /><path d="m10.400 10.400 3.300 3.300" /></g>,
  close: <path d="m4 4 8 8M12 4l-8 8" {...line} />,
  stop: <rect x="4" y="4" width="8" height="8" rx="1.200" {...line} />,
  restart: <g {...line}><path d="M13 7.800a5 5 0 1 1-1.600-3.500" /><path d="M11.600 1.800v2.800H8.800" /></g>,
  trash: <path d="M2.800 4.300h10.400M6.300 4.300V2.600h3.400v1.700M4.200 4.300l.6 9h6.400l.6-9" {...line} />,
  copy: <g {...line}><rect x="5.500" y="5.500" width="8" height="8" rx="1.300" /><path d="M10.500 5.500v-2c0-.6-.4-1-1-1h-6c-.6 0-1 .4-1 1v6c0 .6.4 1 1 1h2" /></g>,
  code: <path d="m5.500 4.500-3.500 3.500 3.500 3.500M10.500 4.500 14 8l-3.500 3.500" {...line} />,
  columns: <g {...line}><rect x="2.200" y="2.700" width="11.600" height="10.600" rx="1.200" /><path d="M6.100 2.700v10.600M9.900 2.700v10.600" /></g>,
  download: <g {...line}><path d="M8 2.300v8M4.800 7.200 8 10.400l3.200-3.200" /><path d="M2.500 13.500h11" /></g>,
  bookmark: <path d="M4 2.500h8v11l-4-2.800-4 2.800z" {...line} />,
  down: <path d="m4 6 4 4 4-4" {...line} />,
  up: <path d="m4 10 4-4 4 4" {...line} />,
  right: <path d="m6 4 4 4-4 4" {...line} />,
  bottom: <path d="M8 2.500v8M4.800 7.300 8 10.500l3.200-3.200M3 13.500h10" {...line} />,
  top: <path d="M8 13.5v-8M4.8 8.700 8 5.500l3.200 3.200M3 2.500h10" {...line} />,
  link: <g {...line}><path d="M6.700 9.300a2.800 2.800 0 0 0 4 0l2-2a2.800 2.800 0 1 0-4-4l-.8.8" /><path d="M9.300 6.700a2.800 2.800 0 0 0-4 0l-2 2a2.800 2.800 0 1 0 4 4l.8-.8" /></g>,
  menu: <path d="M2.500 4.500h11M2.500 8h11M2.500 11.500h11" {...line} />,
  more: <path d="M3.500 8h.1M8 8h.1M12.500 8h.1" {...line} stroke-width="2.400" />,
  sun: <g {...line}><circle cx="8" cy="8" r="2.800" /><path d="M8 1.500v1.300M8 13.200v1.300M1.500 8h1.300M13.200 8h1.300M3.400 3.400l.9.900M11.700 11.700l.9.900M12.600 3.400l-.9.900M4.300 11.700l-.9.900" /></g>,
  moon: <path d="M13.300 9.600A5.700 5.700 0 0 1 6.400 2.700a5.700 5.700 0 1 0 6.900 6.900z" {...line} />,
  screen: <g {...line}><rect x="2" y="3" width="12" height="8" rx="1.200" /><path d="M6 13.500h4" /></g>,
  keyboard: <g {...line}><rect x="1.700" y="4" width="12.600" height="8" rx="1.300" /><path d="M4.500 6.700h.1M7.300 6.700h.1M10 6.700h.1M12 6.700h.1M5 9.400h6" /></g>,
  exit: <path d="M9.500 2.500h-6c-.6 0-1 .4-1 1v9c0 .6.4 1 1 1h6M11 5l3 3-3 3M14 8H6.500" {...line} />,
  warning: <g {...line}><path d="M8 2.300 14.200 13H1.800z" /><path d="M8 6.500v3M8 11.200v.1" /></g>,
  info: <g {...line}><circle cx="8" cy="8" r="5.800" /><path d="M8 7.300v3.500M8 5.100v.1" /></g>,
  play: <path d="M5 3.200 12.500 8 5 12.800z" {...line} />,
  drain: <g {...line}><path d="M8 2.300v6M5.300 5.800 8 8.500l2.700-2.700" /><rect x="2.200" y="10.500" width="11.600" height="3" rx="1" /></g>,
  wrap: <path d="M2.500 4h11M2.500 8h8.500a2 2 0 0 1 0 4H8.500M10 10.400 8.400 12l1.600 1.600M2.500 12h3" {...line} />,
} satisfies Record<string, JSX.Element>

export type IconName = keyof typeof shapes

/** An icon; with a label it is an image to those who cannot see it. */
export function Icon({ name, label, size = 16, class: more = '' }: { name: IconName; label?: string; size?: number; class?: string }) {
  const hidden = label ? { role: 'img', 'aria-label': label } as const : { 'aria-hidden': true } as const
  return (
    <svg class={'icon ' + more} width={size} height={size} viewBox="0 0 16 16" {...hidden}>
      {shapes[name]}
    </svg>
  )
}
