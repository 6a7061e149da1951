package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// FirefoxNames are what Firefox is called, in the order in which they are looked for.
var FirefoxNames = []string{"firefox-esr", "firefox"}

// ErrNoFirefox says that there is no Firefox on this machine.
var ErrNoFirefox = errors.New("no Firefox is installed; scripts/packages installs firefox-esr")

// quiet are settings of a profile that nobody has used, and whose browser asks nobody
// for anything but the pages.
const quiet = `user_pref("app.update.disabledForTesting", true);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.page", 0);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("dom.ipc.processPrelaunch.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("toolkit.telemetry.server", "");
`

// StartFirefox starts a Firefox with a profile of its own, which Close removes. It
// speaks WebDriver BiDi (https://w3c.github.io/webdriver-bidi/), in which there is what
// people do, and less than Chromium tells beside: a Page of it has no Call, Metric, Heap,
// Grant and Prefer.
func StartFirefox() (*Browser, error) {
	program := ""
	for _, n := range FirefoxNames {
		if p, err := exec.LookPath(n); err == nil {
			program = p
			break
		}
	}
	if program == "" {
		return nil, ErrNoFirefox
	}
	dir, err := os.MkdirTemp("", "muster-browser-")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "user.js"), []byte(quiet), 0o600); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	cmd := exec.Command(program, "--headless", "--no-remote", "--profile", dir, "--remote-debugging-port=0", "about:blank")
	b, err := launch(cmd, dir, "WebDriver BiDi listening on ")
	if err != nil {
		return nil, err
	}
	b.bidi = true
	if err := b.connect(b.at + "/session"); err == nil {
		p := &Page{b: b}
		if err = p.ask("session.new", map[string]any{"capabilities": map[string]any{}}, nil); err == nil {
			err = p.ask("session.subscribe", map[string]any{"events": []string{"log.entryAdded"}}, nil)
		}
		if err == nil {
			return b, nil
		}
	}
	b.Close()
	return nil, fmt.Errorf("no answer of Firefox: %w", err)
}

// bidiTab opens a tab; context is a user context, which has cookies and storage of its own.
func (b *Browser) bidiTab(userContext string, width, height int) (*Page, error) {
	p := &Page{b: b, context: userContext}
	var made struct {
		ID string `json:"context"`
	}
	if err := p.ask("browsingContext.create", map[string]any{"type": "tab", "userContext": userContext}, &made); err != nil {
		return nil, err
	}
	p.target, p.session = made.ID, made.ID
	b.mu.Lock()
	b.pages[p.session] = p
	b.mu.Unlock()
	if err := p.Resize(width, height); err != nil {
		return nil, err
	}
	return p, p.toFront()
}

// toFront has the tab be the one that is seen. Firefox has one window for all of them, and
// what is not in front there is hidden, and gets no keys; in Chromium each is seen.
func (p *Page) toFront() error {
	if !p.b.bidi || p.session == "" {
		return nil
	}
	p.b.mu.Lock()
	already := p.b.front == p.target
	p.b.front = p.target
	p.b.mu.Unlock()
	if already {
		return nil
	}
	return p.askBidi("browsingContext.activate", map[string]any{}, nil)
}

// askBidi is ask of what is about this tab.
func (p *Page) askBidi(method string, params map[string]any, out any) error {
	params["context"] = p.target
	return p.ask(method, params, out)
}

// remote is a value as BiDi writes it.
type remote struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// plain is the value as JSON has it; what JSON has not is null.
func (r remote) plain() any {
	switch r.Type {
	case "string", "boolean", "number":
		var v any
		if json.Unmarshal(r.Value, &v) != nil {
			return nil
		}
		if text, odd := v.(string); odd && r.Type == "number" && text == "-0" {
			return 0
		} else if odd && r.Type == "number" {
			return nil // not a number, or without an end
		}
		return v
	case "array":
		var all []remote
		_ = json.Unmarshal(r.Value, &all)
		out := make([]any, len(all))
		for i, v := range all {
			out[i] = v.plain()
		}
		return out
	case "object":
		var all [][2]json.RawMessage
		_ = json.Unmarshal(r.Value, &all)
		out := map[string]any{}
		for _, pair := range all {
			var key string
			var v remote
			if json.Unmarshal(pair[0], &key) == nil && json.Unmarshal(pair[1], &v) == nil {
				out[key] = v.plain()
			}
		}
		return out
	}
	return nil
}

func (p *Page) evalBidi(js string, out any) error {
	var r struct {
		Type      string `json:"type"`
		Result    remote `json:"result"`
		Exception struct {
			Text string `json:"text"`
		} `json:"exceptionDetails"`
	}
	err := p.ask("script.evaluate", map[string]any{"expression": js, "target": map[string]string{"context": p.target}, "awaitPromise": true, "userActivation": true}, &r)
	if err != nil {
		return err
	}
	if r.Type == "exception" {
		return fmt.Errorf("%s: %s", js, r.Exception.Text)
	}
	if out == nil || r.Result.Type == "undefined" {
		return nil
	}
	text, err := json.Marshal(r.Result.plain())
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

// act does what a device does, step by step.
func (p *Page) act(device map[string]any) error {
	return p.askBidi("input.performActions", map[string]any{"actions": []any{device}}, nil)
}

func (p *Page) clickBidi(x, y float64) error {
	return p.act(map[string]any{"type": "pointer", "id": "mouse", "actions": []any{
		map[string]any{"type": "pointerMove", "x": int(x), "y": int(y)}, map[string]any{"type": "pointerDown", "button": 0}, map[string]any{"type": "pointerUp", "button": 0},
	}})
}

// bidiKeys are keys that are no letters (https://w3c.github.io/webdriver/#keyboard-actions).
var bidiKeys = map[string]string{
	"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "ArrowDown": "\ue015", "ArrowUp": "\ue013", "ArrowLeft": "\ue012", "ArrowRight": "\ue014",
	"Backspace": "\ue003", "Home": "\ue011", "End": "\ue010", "Shift": "\ue008", "Control": "\ue009", "Alt": "\ue00a", "Meta": "\ue03d",
}

func (p *Page) pressBidi(keys ...string) error {
	var steps []any
	for _, k := range keys {
		parts := []string{k}
		if len(k) > 1 {
			parts = strings.Split(k, "+")
		}
		for i, part := range parts {
			if code, ok := bidiKeys[part]; ok {
				parts[i] = code
			}
			steps = append(steps, map[string]any{"type": "keyDown", "value": parts[i]})
		}
		for i := range parts {
			steps = append(steps, map[string]any{"type": "keyUp", "value": parts[len(parts)-1-i]})
		}
	}
	return p.act(map[string]any{"type": "key", "id": "keyboard", "actions": steps})
}

func (p *Page) typeBidi(text string) error {
	keys := make([]string, 0, len(text))
	for _, c := range text {
		keys = append(keys, string(c))
	}
	return p.pressBidi(keys...)
}

// left is NS_BINDING_ABORTED: the page was left while something still loaded.
const left = "2152398850"

// happenedBidi notes what a page should not have said.
func (b *Browser) happenedBidi(method string, params json.RawMessage) {
	var e struct {
		Level, Text, Type string
		Source            struct{ Context string }
	}
	if method != "log.entryAdded" || json.Unmarshal(params, &e) != nil || e.Level != "error" ||
		strings.Contains(e.Text, "font: download failed") && strings.Contains(e.Text, "status="+left) {
		return
	}
	b.mu.Lock()
	p := b.pages[e.Source.Context]
	b.mu.Unlock()
	if p != nil {
		p.mu.Lock()
		p.complaints = append(p.complaints, e.Type+": "+e.Text)
		p.mu.Unlock()
	}
}

func (b *Browser) closeBidi(ctx context.Context) { _, _ = b.call(ctx, "", "browser.close", nil) }
