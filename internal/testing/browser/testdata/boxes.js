// The parts of a page that its layout consists of, with where they are: what frames it,
// and its cards, by their headings. Numbers in headings are of the moment.
(() => {
  const out = []
  const add = (name, e) => {
    const r = e.getBoundingClientRect()
    if (r.width > 0 && r.height > 0 && e.checkVisibility({ visibilityProperty: true }) && !out.some((b) => b.name === name)) out.push({ name, x: Math.round(r.x), y: Math.round(r.y), wide: Math.round(r.width) })
  }
  for (const s of ['.nav', '.topbar', '.page', '.page h1', '.page-actions', '.toolbar', '.tabs', '.filter', '.table', '.log', '.tiles', '.lifeline', '.editor', '.map-side', 'canvas', '.submit-side']) {
    const e = document.querySelector(s)
    if (e) add(s, e)
  }
  for (const c of document.querySelectorAll('.card')) {
    const head = c.querySelector('h2')?.innerText.split(/\d/)[0].replace(/\s+/g, ' ').trim()
    if (head) add('card ' + head, c)
  }
  return out
})()
