// What is wrong with how a page is laid out, as a list of texts: what is wider than
// the window, pictures that leave their card, and text that lies over other text.
(() => {
  const wrong = []
  const page = document.querySelector('.page')
  const about = (e) => e.outerHTML.slice(0, 120)
  if (document.documentElement.scrollWidth > innerWidth) wrong.push('the document is wider than the window')
  if (page && page.scrollWidth > page.clientWidth + 1) wrong.push('the page is wider than the window')
  for (const e of document.querySelectorAll('.card svg, .card canvas, .card table')) {
    const c = e.closest('.card').getBoundingClientRect()
    let seen = e.getBoundingClientRect().right
    for (let p = e.parentElement; p && p !== e.closest('.card').parentElement; p = p.parentElement) if (getComputedStyle(p).overflowX !== 'visible') seen = Math.min(seen, p.getBoundingClientRect().right)
    if (seen > c.right + 1) wrong.push(`${seen - c.right} pixels beyond its card: ${about(e)}`)
  }

  // Where each text is seen, and on what: things that lie over the page hide what is below.
  const texts = []
  const walk = document.createTreeWalker(document.querySelector('dialog[open]') ?? document.body, NodeFilter.SHOW_TEXT)
  const range = document.createRange()
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    const e = n.parentElement
    if (!n.data.trim() || e.closest('script, style, option, textarea') || !e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue
    range.selectNodeContents(n)
    let layer = document.body
    let [l, t, r, b] = [-1e9, -1e9, 1e9, 1e9]
    let hidden = false
    for (let p = e; p && p !== page; p = p.parentElement) {
      const s = getComputedStyle(p)
      if (s.clipPath !== 'none') hidden = true
      if (layer === document.body && (s.position === 'fixed' || s.position === 'sticky' || (s.position === 'absolute' && s.backgroundColor !== 'rgba(0, 0, 0, 0)'))) layer = p
      if (s.overflowX === 'visible' || p instanceof SVGElement || s.display === 'inline') continue
      const c = p.getBoundingClientRect();
      [l, t, r, b] = [Math.max(l, c.left), Math.max(t, c.top), Math.min(r, c.right), Math.min(b, c.bottom)]
    }
    if (hidden) continue
    if (layer === document.body && page?.contains(e)) layer = page // it is scrolled below what stays
    for (const c of range.getClientRects()) {
      const box = { n, layer, left: Math.max(l, c.left), top: Math.max(t, c.top), right: Math.min(r, c.right), bottom: Math.min(b, c.bottom) }
      if (box.right - box.left > 2 && box.bottom - box.top > 2) texts.push(box)
    }
  }
  texts.sort((a, b) => a.top - b.top)
  texts.forEach((a, i) => {
    for (let k = i + 1; k < texts.length && texts[k].top < a.bottom; k++) {
      const b = texts[k]
      const high = Math.min(a.bottom, b.bottom) - b.top
      if (a.n === b.n || a.layer !== b.layer || Math.min(a.right, b.right) - Math.max(a.left, b.left) < 2 || high < 0.4 * Math.min(a.bottom - a.top, b.bottom - b.top)) continue
      wrong.push(`“${a.n.data.slice(0, 40)}” and “${b.n.data.slice(0, 40)}” lie over one another: ${about(b.n.parentElement)}`)
    }
  })
  return wrong.slice(0, 5)
})()
