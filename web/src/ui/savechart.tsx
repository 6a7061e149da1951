// What every chart is saved as: a picture, and the numbers that it shows.
import { later } from '../lib/later'
import { Button } from './basics'
import { complain } from './overlay'
import { phrase, T } from '../texts'

interface SaveProps { /** What the chart is called. */ of: string; file: string; /** Above the picture; by default what it is called. */ name?: string; /** The first row is the head. */ rows?: () => (string | number)[][] }

/** Buttons that save the chart of the card or section that they stand in. */
export function SaveChart({ of, file, name = of, rows }: SaveProps) {
  const picture = (e: Event): void => {
    const box = (e.currentTarget as Element).closest('section, figure, .card')
    const [chart, cells] = [box?.querySelector<SVGSVGElement>('svg[role=img], .heat svg'), box?.querySelector<HTMLCanvasElement>('.heat canvas')]
    if (chart) later((l) => l.savePNG(chart, name, file + '.png', cells ? { of: cells, left: cells.offsetLeft } : undefined).catch((x: unknown) => complain(x)))
  }
  return (
    <span class="chart-saves">
      <Button kind="quiet" aria-label={phrase(T.$downloadNameAsPNG, { name: of })} onClick={picture}>{T.$png}</Button>
      {rows && <Button kind="quiet" aria-label={phrase(T.$downloadNameAsCSV, { name: of })} onClick={() => later((l) => l.saveText(file + '.csv', 'text/csv', l.csv(rows())))}>{T.$csv}</Button>}
    </span>
  )
}
