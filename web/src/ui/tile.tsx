// A large figure with what it is, and what is to be said of it.
import './tile.css'
import type { ComponentChildren } from 'preact'
import { Link } from './basics'
import { phrase, T } from '../texts'

export interface TileProps { name: string; value: string; of?: string; note?: ComponentChildren; /** Where it leads. */ to?: string; tone?: string | undefined; children?: ComponentChildren }

export function Tile({ name, value, of, note, to, tone, children }: TileProps) {
  const inside = (
    <>
      <span class="tile-name">{name}</span>
      <span class="tile-value">{value}{of && <small>{phrase(T.$ofTotal, { total: of })}</small>}</span>
      {children}
      {note && <span class="tile-note">{note}</span>}
    </>
  )
  return to ? <Link to={to} class="tile" data-tone={tone}>{inside}</Link> : <div class="tile" data-tone={tone}>{inside}</div>
}
