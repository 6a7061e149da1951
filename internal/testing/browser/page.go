package browser

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// Patience is how long anything may take that a page is expected to do.
const Patience = 60 * time.Second

// Page is a tab with cookies and storage of its own.
type Page struct {
	b       *Browser
	context string
	target  string
	session string

	mu         sync.Mutex
	complaints []string // what a page of ours never says: errors, refusals of the policy
}

// NewPage opens an empty tab, in which nobody is logged in.
func (b *Browser) NewPage(width, height int) (*Page, error) {
	var made struct {
		ID string `json:"browserContextId"`
	}
	if b.bidi {
		var made struct {
			ID string `json:"userContext"`
		}
		if err := (&Page{b: b}).ask("browser.createUserContext", nil, &made); err != nil {
			return nil, err
		}
		return b.bidiTab(made.ID, width, height)
	}
	if err := (&Page{b: b}).ask("Target.createBrowserContext", nil, &made); err != nil {
		return nil, err
	}
	return b.tab(made.ID, width, height)
}

// Another opens an empty tab beside this one: cookies and storage are the same.
// Close of either forgets both; CloseTab closes one.
func (p *Page) Another(width, height int) (*Page, error) {
	if p.b.bidi {
		return p.b.bidiTab(p.context, width, height)
	}
	return p.b.tab(p.context, width, height)
}

func (b *Browser) tab(context string, width, height int) (*Page, error) {
	p := &Page{b: b, context: context}
	var target struct {
		ID string `json:"targetId"`
	}
	if err := p.ask("Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": context}, &target); err != nil {
		return nil, err
	}
	p.target = target.ID
	var attached struct {
		Session string `json:"sessionId"`
	}
	if err := p.ask("Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &attached); err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.pages[attached.Session] = p
	b.mu.Unlock()
	p.session = attached.Session
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		if err := p.ask(domain+".enable", nil, nil); err != nil {
			return nil, err
		}
	}
	return p, p.Resize(width, height)
}

// Close closes the tab, those beside it, and forgets what they stored.
func (p *Page) Close() {
	p.forget()
	if p.b.bidi {
		_ = p.ask("browser.removeUserContext", map[string]any{"userContext": p.context}, nil)
		return
	}
	_ = p.ask("Target.disposeBrowserContext", map[string]any{"browserContextId": p.context}, nil)
}

// CloseTab closes this tab alone.
func (p *Page) CloseTab() error {
	p.forget()
	if p.b.bidi {
		return p.askBidi("browsingContext.close", map[string]any{}, nil)
	}
	return p.ask("Target.closeTarget", map[string]any{"targetId": p.target}, nil)
}

func (p *Page) forget() {
	p.b.mu.Lock()
	delete(p.b.pages, p.session)
	p.b.mu.Unlock()
	p.session = ""
}

func (p *Page) ask(method string, params any, out any) error {
	ctx, cancel := context.WithTimeout(p.b.ctx, Patience)
	defer cancel()
	result, err := p.b.call(ctx, p.session, method, params)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(result, out)
}

// ErrOnlyChromium says that something is asked which only Chromium's protocol has.
var ErrOnlyChromium = errors.New("only Chromium can be asked for this")

// Call asks Chromium something of its protocol for which there is no method here.
func (p *Page) Call(method string, params any) error {
	if p.b.bidi {
		return fmt.Errorf("%w: %s", ErrOnlyChromium, method)
	}
	return p.ask(method, params, nil)
}

// happened notes what a page should not have said.
func (p *Page) happened(method string, params json.RawMessage) {
	var what string
	switch method {
	case "Runtime.exceptionThrown":
		var e struct {
			Details struct {
				Text      string `json:"text"`
				Exception struct {
					Description string `json:"description"`
				} `json:"exception"`
			} `json:"exceptionDetails"`
		}
		if json.Unmarshal(params, &e) == nil {
			what = e.Details.Text + " " + e.Details.Exception.Description
		}
	case "Log.entryAdded":
		var e struct {
			Entry struct {
				Source, Level, Text, URL string
			} `json:"entry"`
		}
		// That the server refused or was away is its business, and tested as such.
		if json.Unmarshal(params, &e) == nil && e.Entry.Level == "error" && e.Entry.Source != "network" {
			what = e.Entry.Source + ": " + e.Entry.Text + " " + e.Entry.URL
		}
	case "Runtime.consoleAPICalled":
		var e struct {
			Type string `json:"type"`
			Args []struct {
				Value any `json:"value"`
			} `json:"args"`
		}
		if json.Unmarshal(params, &e) == nil && (e.Type == "error" || e.Type == "warning" || e.Type == "assert") {
			what = e.Type + fmt.Sprint(e.Args)
		}
	}
	if what != "" {
		p.mu.Lock()
		p.complaints = append(p.complaints, what)
		p.mu.Unlock()
	}
}

// Complaints are errors of scripts and refusals of the content policy since the
// page was made.
func (p *Page) Complaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.complaints...)
}

// Resize sets the size of the window, in pixels of the page.
func (p *Page) Resize(width, height int) error {
	if p.b.bidi {
		return p.askBidi("browsingContext.setViewport", map[string]any{"viewport": map[string]int{"width": width, "height": height}}, nil)
	}
	return p.ask("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// Prefer says what the person before the screen prefers: "dark" or "light", and
// whether things may move.
func (p *Page) Prefer(scheme string, still bool) error {
	motion := "no-preference"
	if still {
		motion = "reduce"
	}
	return p.Call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion},
	}})
}

// Open goes to a URL and returns once it has loaded.
func (p *Page) Open(url string) error {
	var r struct {
		Error string `json:"errorText"`
	}
	if p.b.bidi {
		if err := p.askBidi("browsingContext.navigate", map[string]any{"url": url, "wait": "complete"}, nil); err != nil {
			return fmt.Errorf("%s: %w", url, err)
		}
	} else if err := p.ask("Page.navigate", map[string]any{"url": url}, &r); err != nil {
		return err
	}
	if r.Error != "" {
		return fmt.Errorf("%s: %s", url, r.Error)
	}
	return p.Until(`document.readyState === 'complete' && location.href !== 'about:blank'`)
}

// Eval runs JavaScript, waits for what it promises, and decodes the value.
func (p *Page) Eval(js string, out any) error {
	if p.b.bidi {
		return p.evalBidi(js, out)
	}
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	if err := p.ask("Runtime.evaluate", map[string]any{"expression": js, "awaitPromise": true, "returnByValue": true}, &r); err != nil {
		return err
	}
	if r.Exception != nil {
		return fmt.Errorf("%s: %s %s", js, r.Exception.Text, r.Exception.Exception.Description)
	}
	if out == nil || len(r.Result.Value) == 0 {
		return nil
	}
	return json.Unmarshal(r.Result.Value, out)
}

// ErrNever says that something did not come true.
var ErrNever = errors.New("it did not come true")

// Until waits until a JavaScript expression is true.
func (p *Page) Until(js string) error { return p.until("!!("+js+")", js) }

// UntilPromised waits until what a JavaScript expression promises is true.
func (p *Page) UntilPromised(js string) error { return p.until("("+js+").then(Boolean)", js) }

func (p *Page) until(ask, js string) error {
	if err := p.toFront(); err != nil {
		return err
	}
	var last error
	for deadline := time.Now().Add(Patience); time.Now().Before(deadline); time.Sleep(15 * time.Millisecond) {
		var ok bool
		if last = p.Eval(ask, &ok); last == nil && ok {
			return nil
		}
	}
	var text string
	_ = p.Eval("location.href + '\\n' + document.body.innerText.slice(0, 3000)", &text)
	return fmt.Errorf("%w: %s (%v); the page shows:\n%s", ErrNever, js, last, text)
}

// quote is text as JavaScript has it.
func quote(s string) string {
	b, _ := json.Marshal(s) // a string can always be written
	return string(b)
}

// Quote is text as a JavaScript literal.
func Quote(s string) string { return quote(s) }

// Shows waits until the page shows a text.
func (p *Page) Shows(text string) error {
	return p.Until("document.body.innerText.includes(" + quote(text) + ")")
}

// Click waits for what a CSS selector finds to be seen and clicks at its middle,
// as a person would: what lies over it gets the click.
func (p *Page) Click(selector string) error {
	return p.clickOn(`document.querySelector(` + quote(selector) + `)`)
}

// ClickText clicks the smallest thing of these that shows a text: "button", "a".
func (p *Page) ClickText(tag, text string) error {
	return p.clickOn(`[...document.querySelectorAll(` + quote(tag) + `)].filter(e => e.innerText.trim() === ` + quote(text) + ` && e.getBoundingClientRect().width > 0).pop()`)
}

// clickOn clicks what an expression finds once it has stood still for some
// frames: what arrives above it moves it away under the pointer, and nobody aims
// at what still moves.
func (p *Page) clickOn(find string) error {
	at := `(() => {
		const e = ` + find + `
		if (!e) return null
		e.scrollIntoView({block: 'nearest', inline: 'nearest'})
		const r = e.getBoundingClientRect()
		if (r.width <= 0 || r.height <= 0) return null
		const at = [r.x + r.width / 2, r.y + r.height / 2], now = performance.now(), was = window.testAim
		window.testAim = was && was.e === e && was.at.join() === at.join() ? was : {e, at, since: now}
		return now - window.testAim.since > 60 ? at : null
	})()`
	var xy []float64
	for deadline := time.Now().Add(Patience); len(xy) != 2; {
		if err := p.Until(at); err != nil {
			return err
		}
		if err := p.Eval(at, &xy); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: it stands still: %s", ErrNever, find)
		}
	}
	if p.b.bidi {
		return p.clickBidi(xy[0], xy[1])
	}
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		e := map[string]any{"type": kind, "x": xy[0], "y": xy[1], "button": "left", "clickCount": 1}
		if kind == "mouseMoved" {
			e["button"], e["clickCount"] = "none", 0
		}
		if err := p.ask("Input.dispatchMouseEvent", e, nil); err != nil {
			return err
		}
	}
	return nil
}

// Front has the tab be the one that is seen.
func (p *Page) Front() error {
	if p.b.bidi {
		return p.toFront()
	}
	return p.Call("Page.bringToFront", nil)
}

// Drag presses the mouse at one part of the width of what a CSS selector finds (0 to 1),
// moves it to another, and lets it go.
func (p *Page) Drag(selector string, from, to float64) error {
	return p.drag(selector, from, 0.5, to, 0.5)
}

// DragDown is Drag along the height.
func (p *Page) DragDown(selector string, from, to float64) error {
	return p.drag(selector, 0.5, from, 0.5, to)
}

// drag takes the mouse from one place of what is found to another, each as parts of its
// width and height.
func (p *Page) drag(selector string, x1, y1, x2, y2 float64) error {
	at := `(() => { const e = document.querySelector(` + quote(selector) + `); e.scrollIntoView({block: 'nearest'}); const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height] })()`
	if err := p.Until(`document.querySelector(` + quote(selector) + `)?.getBoundingClientRect().width > 0`); err != nil {
		return err
	}
	var r []float64
	if err := p.Eval(at, &r); err != nil {
		return err
	}
	way := func(part float64) (x, y float64) {
		return r[0] + (x1+(x2-x1)*part)*r[2], r[1] + (y1+(y2-y1)*part)*r[3]
	}
	if p.b.bidi {
		move := func(part float64) map[string]any {
			x, y := way(part)
			return map[string]any{"type": "pointerMove", "x": int(x), "y": int(y)}
		}
		return p.act(map[string]any{"type": "pointer", "id": "mouse", "actions": []any{
			move(0), map[string]any{"type": "pointerDown", "button": 0}, move(0.5), move(1), map[string]any{"type": "pointerUp", "button": 0},
		}})
	}
	for _, step := range []struct {
		kind, button string
		part         float64
	}{{"mouseMoved", "none", 0}, {"mousePressed", "left", 0}, {"mouseMoved", "left", 0.5}, {"mouseMoved", "left", 1}, {"mouseReleased", "left", 1}} {
		x, y := way(step.part)
		e := map[string]any{"type": step.kind, "x": x, "y": y, "button": step.button, "clickCount": 1}
		if step.button == "left" {
			e["buttons"] = 1
		}
		if err := p.ask("Input.dispatchMouseEvent", e, nil); err != nil {
			return err
		}
	}
	return nil
}

// Type writes text where the focus is.
func (p *Page) Type(text string) error {
	if err := p.toFront(); err != nil {
		return err
	}
	if p.b.bidi {
		return p.typeBidi(text)
	}
	return p.ask("Input.insertText", map[string]any{"text": text}, nil)
}

// keyCodes are keys that are no letters.
var keyCodes = map[string]int{"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Backspace": 8, " ": 32, "Home": 36, "End": 35}

// Press presses keys one after the other: "j", "Enter", "Control+k".
func (p *Page) Press(keys ...string) error {
	if err := p.toFront(); err != nil {
		return err
	}
	if p.b.bidi {
		return p.pressBidi(keys...)
	}
	for _, k := range keys {
		modifiers := 0
		for name, bit := range map[string]int{"Alt+": 1, "Control+": 2, "Meta+": 4, "Shift+": 8} {
			if rest, ok := strings.CutPrefix(k, name); ok {
				modifiers |= bit
				k = rest
			}
		}
		e := map[string]any{"key": k, "modifiers": modifiers}
		if code, ok := keyCodes[k]; ok {
			e["windowsVirtualKeyCode"], e["code"] = code, k
			if k == "Enter" {
				e["text"] = "\r"
			}
			if k == " " {
				e["text"], e["code"] = " ", "Space"
			}
		} else {
			e["windowsVirtualKeyCode"] = int(strings.ToUpper(k)[0])
			if modifiers&^8 == 0 {
				e["text"] = k
			}
		}
		e["type"] = "keyDown"
		if err := p.ask("Input.dispatchKeyEvent", e, nil); err != nil {
			return err
		}
		e["type"] = "keyUp"
		delete(e, "text")
		if err := p.ask("Input.dispatchKeyEvent", e, nil); err != nil {
			return err
		}
	}
	return nil
}

// Screenshot writes what is seen to a PNG file.
func (p *Page) Screenshot(file string) error {
	var shot struct {
		Data string `json:"data"`
	}
	var err error
	if p.b.bidi {
		err = p.askBidi("browsingContext.captureScreenshot", map[string]any{}, &shot)
	} else {
		err = p.ask("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	}
	if err != nil {
		return err
	}
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// PDF is what the page looks like on paper (A4).
func (p *Page) PDF() ([]byte, error) {
	var made struct {
		Data string `json:"data"`
	}
	var err error
	if p.b.bidi {
		err = p.askBidi("browsingContext.print", map[string]any{"page": map[string]float64{"width": 21, "height": 29.7}}, &made)
	} else {
		err = p.ask("Page.printToPDF", map[string]any{"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": true}, &made)
	}
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(made.Data)
}

// ForgetCookies logs the page out, as time does.
func (p *Page) ForgetCookies() error {
	if p.b.bidi {
		return p.ask("storage.deleteCookies", map[string]any{"partition": map[string]string{"type": "context", "context": p.target}}, nil)
	}
	return p.ask("Network.clearBrowserCookies", nil, nil)
}

// Grant lets pages of an origin do what they would have to ask a person for.
func (p *Page) Grant(permission, origin string) error {
	return (&Page{b: p.b}).Call("Browser.grantPermissions", map[string]any{"permissions": []string{permission}, "origin": origin, "browserContextId": p.context})
}

// Metric is one of the browser's own figures of the page, such as TaskDuration
// (seconds of work) or JSHeapUsedSize (bytes).
func (p *Page) Metric(name string) (float64, error) {
	if err := p.Call("Performance.enable", nil); err != nil {
		return 0, err
	}
	var r struct {
		Metrics []struct {
			Name  string  `json:"name"`
			Value float64 `json:"value"`
		} `json:"metrics"`
	}
	if err := p.ask("Performance.getMetrics", nil, &r); err != nil {
		return 0, err
	}
	for _, m := range r.Metrics {
		if m.Name == name {
			return m.Value, nil
		}
	}
	return 0, fmt.Errorf("the browser has no figure %q", name)
}

// Heap is how many bytes of the page's heap are in use once what nobody holds has
// been collected.
func (p *Page) Heap() (float64, error) {
	if err := p.Call("HeapProfiler.collectGarbage", nil); err != nil {
		return 0, err
	}
	var r struct {
		Used float64 `json:"usedSize"`
	}
	err := p.ask("Runtime.getHeapUsage", nil, &r)
	return r.Used, err
}
