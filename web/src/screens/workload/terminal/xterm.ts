// The terminal itself: a bundle of its own, loaded when a terminal is opened.
import { FitAddon } from '@xterm/addon-fit'
import { Terminal, type ITheme } from '@xterm/xterm'

/**
 * Elements as the library makes them, but for what the policy of these pages
 * forbids: sheets are adopted instead of written into the document.
 */
function make(name: string, o?: ElementCreationOptions): HTMLElement {
  // Even an empty sheet would be refused: something that shows nothing stands for it.
  const el = Document.prototype.createElement.call(document, name === 'style' ? 'template' : name, o)
  if (name === 'style') {
    const sheet = new CSSStyleSheet()
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
    Object.defineProperty(el, 'textContent', { set: (css: string) => sheet.replaceSync(css), get: () => '' })
    el.remove = () => {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => s !== sheet)
      Element.prototype.remove.call(el)
    }
  }
  return el
}

// The library writes colours that have no class as attributes of its spans, which
// are made where nothing can be put in between.
HTMLSpanElement.prototype.setAttribute = function (name: string, value: string): void {
  if (name === 'style') this.style.cssText = value
  else Element.prototype.setAttribute.call(this, name, value)
}

const methods = new Map<PropertyKey, unknown>()
const own = new Proxy(document, {
  get(target, key) {
    if (key === 'createElement') return make
    const v: unknown = Reflect.get(target, key, target)
    if (typeof v !== 'function') return v
    if (!methods.has(key)) methods.set(key, v.bind(target))
    return methods.get(key)
  },
})

const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/** The colours of the pages, as they are at present. */
export function theme(): ITheme {
  const t: ITheme = { background: colour('--log'), foreground: colour('--ink'), cursor: colour('--accent'), cursorAccent: colour('--log'), selectionBackground: colour('--accent') + '55' }
  for (const name of ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const) {
    t[name] = colour('--ansi-' + name)
    t[('bright' + name[0]!.toUpperCase() + name.slice(1)) as 'brightRed'] = colour('--ansi-' + name)
  }
  return t
}

/**
 * A terminal in an element, which follows the element's size. One that is spoken
 * tells screen readers what it shows, and takes no text from touch keyboards.
 */
export function open(box: HTMLElement, spoken: boolean): { terminal: Terminal; fit: () => void; end: () => void } {
  const terminal = new Terminal({
    documentOverride: own, fontFamily: colour('--mono'), fontSize: 13, lineHeight: 1.25, scrollback: 10_000, cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
    theme: theme(), screenReaderMode: spoken, macOptionIsMeta: true, minimumContrastRatio: 4.5,
  })
  const addon = new FitAddon()
  terminal.loadAddon(addon)
  // One part of the library makes its sheet in the page itself whatever it was given.
  const page = document as { createElement?: unknown }
  page.createElement = make
  try {
    terminal.open(box)
  } finally {
    delete page.createElement
  }
  const fit = (): void => addon.fit()
  const watch = new ResizeObserver(fit)
  watch.observe(box)
  fit()
  return {
    terminal, fit,
    end: () => {
      watch.disconnect()
      terminal.dispose()
    },
  }
}
