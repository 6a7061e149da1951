// A chart as a picture: drawn again from its own shapes, with the colours and letters that
// the page gives them, since a picture does not know the page's sheet of style.

const taken = ['fill', 'fill-opacity', 'stroke', 'stroke-opacity', 'stroke-width', 'stroke-dasharray', 'stroke-linejoin', 'stroke-linecap', 'opacity', 'font-family', 'font-size', 'font-weight', 'text-anchor', 'visibility', 'display']
const space = 'http://www.w3.org/2000/svg'
const head = 26 // pixels above the chart, for its name

/** Saves a chart, twice as large as it is shown; cells are those of it that are drawn on a canvas, at the top, so far from its left side. */
export async function savePNG(chart: SVGSVGElement, name: string, file: string, cells?: { of: HTMLCanvasElement; left: number }): Promise<void> {
  const [width, height] = [chart.clientWidth, chart.clientHeight]
  const copy = chart.cloneNode(true) as SVGSVGElement
  const now = chart.querySelectorAll('*')
  copy.querySelectorAll('*').forEach((e, i) => {
    const style = getComputedStyle(now[i]!)
    for (const p of taken) if (style.getPropertyValue(p)) (e as SVGElement).style.setProperty(p, style.getPropertyValue(p))
  })
  const whole = document.createElementNS(space, 'svg')
  whole.setAttribute('xmlns', space)
  whole.setAttribute('width', String(2 * width))
  whole.setAttribute('height', String(2 * (height + head)))
  whole.setAttribute('viewBox', `0 0 ${width} ${height + head}`)
  copy.setAttribute('y', String(head))
  const body = getComputedStyle(document.body)
  const ground = document.createElementNS(space, 'rect')
  ground.setAttribute('width', '100%')
  ground.setAttribute('height', '100%')
  ground.setAttribute('fill', getComputedStyle(document.documentElement).getPropertyValue('--surface'))
  const title = document.createElementNS(space, 'text')
  title.textContent = name
  title.setAttribute('x', '8')
  title.setAttribute('y', '18')
  title.setAttribute('fill', body.color)
  title.setAttribute('font-family', 'system-ui, sans-serif')
  title.setAttribute('font-size', '13')
  whole.append(ground, title, copy)
  const url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(whole)], { type: 'image/svg+xml' }))
  try {
    const picture = new Image()
    picture.src = url
    await picture.decode()
    const canvas = document.createElement('canvas')
    canvas.width = 2 * width
    canvas.height = 2 * (height + head)
    const g = canvas.getContext('2d')!
    g.drawImage(picture, 0, 0)
    if (cells) g.drawImage(cells.of, 2 * cells.left, 2 * head, 2 * cells.of.clientWidth, 2 * cells.of.clientHeight)
    const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/png'))
    if (blob) saveBlob(file, blob)
  } finally {
    URL.revokeObjectURL(url)
  }
}

function saveBlob(name: string, blob: Blob): void {
  const a = document.createElement('a')
  a.href = URL.createObjectURL(blob)
  a.download = name
  a.click()
  setTimeout(() => URL.revokeObjectURL(a.href), 10_000)
}
