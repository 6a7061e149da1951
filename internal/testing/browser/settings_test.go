package browser_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/testing/browser"
)

func init() {
	for _, tab := range []struct{ id, ready string }{
		{"pools", `document.querySelectorAll('.rows tbody tr').length >= 2`}, {"rules", `document.querySelectorAll('.rows tbody tr').length >= 2`},
		{"templates", `document.querySelectorAll('.rows tbody tr').length >= 2`}, {"secrets", `document.querySelectorAll('.rows tbody tr').length >= 2`}, {"notifications", `document.querySelectorAll('.rows tbody tr').length >= 2`},
		{"events", `document.querySelectorAll('.rows tbody tr').length > 20`}, {"server", `document.querySelectorAll('.server-cards .facts').length === 2`},
	} {
		screens = append(screens, screen{name: "settings-" + tab.id, path: "settings?tab=" + tab.id, ready: tab.ready})
	}
	screens = append(screens, screen{name: "settings-new-secret", path: "settings?tab=secrets", ready: `document.querySelector('.page .button.main')`, then: func(g *page) {
		g.clickText("button", "New secret")
		g.until(`document.querySelector('dialog[open]')`)
	}})
	screens = append(screens,
		screen{name: "settings-new-template", path: "settings?tab=templates", ready: `document.querySelector('.page .button.main')`, then: func(g *page) {
			g.clickText("button", "New template")
			g.until(`document.querySelector('dialog[open]')`)
		}},
		screen{name: "workloads-more", path: "workloads", ready: `document.querySelector('tbody .row-link')`, then: func(g *page) {
			var phone bool // where several are chosen by nobody
			if g.must(g.Eval(`innerWidth < 600`, &phone)); phone {
				return
			}
			g.click(`thead input[type="checkbox"]`)
			g.click(`.bulk [aria-label^="More"]`)
			g.until(`document.querySelector('.bulk .menu')`)
		}},
		screen{name: "projects-new", path: "projects", ready: `document.querySelector('.tree tbody tr')`, then: func(g *page) {
			g.clickText(".page-actions button", "New project")
			g.until(`document.querySelector('dialog[open]')`)
		}},
	)
	populated = append(populated, func(w *world) {
		w.muster("pool", "create", "h100", "--selector", "pool=h100", "--note", "the new racks")
		w.muster("project", "create", "vision")
		w.muster("project", "set", "vision", "--time-limit", "workspace=12h", "--idle-limit", "workspace=1h", "--budget", "5000h/30d", "--check", "name=legal,type=approval")
		w.muster("environment", "create", "torch", "--image", "pytorch/pytorch:2.5.1", "--env", "HF_HOME=/cache")
		w.muster("template", "create", "finetune", "--environment", "torch", "--description", "what most begin with", "--gpus", "1", "--", "python3", "tune.py")
		w.muster("secret", "create", "hf", "hugging-face", "--from-file", w.file("hf_s3cret"), "--everywhere")
		w.muster("secret", "create", "docker", "ghcr", "--registry", "ghcr.io", "--username", "ada", "--from-file", w.file("s3cret"))
		w.muster("notifications", "add", "ends", "--webhook", "http://127.0.0.1:9/hook")
		w.submit(`{name: told, command: "true", resources: {cpu: 0.05}}`)
		w.muster("wait", "told", "--timeout", "60s")
	})
}

func TestSettings(t *testing.T) {
	var hooked = make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case hooked <- r.Header.Get("webhook-id"):
		default:
		}
	}))
	t.Cleanup(hook.Close)
	w := newWorld(t)
	g := w.enter(1280, 800)
	inTable := func(text string) {
		t.Helper()
		g.until(`document.querySelector('.rows')?.innerText.includes(` + browser.Quote(text) + `)`)
	}

	g.visit("settings")
	g.until(`document.querySelector('.rows tbody [aria-label="Delete default"]').title.includes('default')`) // why it cannot be
	g.clickText("button", "New pool")
	g.input("name", "h100")
	g.input("selector", "pool=h100")
	g.clickText("dialog button", "Create")
	inTable("pool=h100")

	g.clickText(".tabs a", "Rules and checks")
	g.click(`[aria-label="Edit the rules of default"]`)
	g.shows("Rules of default")
	g.input("timeLimit", "workspace=12h")
	g.input("checks", "- name: legal\n  type: nonsense\n")
	g.clickText("dialog button", "Save")
	g.until(`document.querySelector('dialog .field-bad')`)
	g.input("checks", "- name: legal\n  type: approval\n")
	g.clickText("dialog button", "Save")
	inTable("workspace 12h")
	inTable("legal")
	w.muster("department", "create", "lab")
	w.muster("department", "set", "lab", "--time-limit", "workspace=8h")
	w.muster("project", "update", "default", "--parent", "lab")
	inTable("workspace 8h, from above")

	g.clickText(".tabs a", "Secrets")
	g.clickText("button", "New secret")
	g.input("name", "token")
	g.input("variable", "TOKEN")
	g.input("value", "do-not-show-me")
	g.clickText("dialog button", "Create secret")
	inTable("token")
	g.until(`!document.body.innerHTML.includes('do-not-show-me')`)
	if out := w.muster("secret", "list"); !strings.Contains(out, "token") {
		t.Errorf("it was not kept:\n%s", out)
	}

	g.clickText(".tabs a", "Notifications")
	g.clickText("button", "New notification")
	g.input("name", "ends")
	g.input("webhook", hook.URL)
	g.clickText("dialog button", "Create")
	inTable("ends")
	g.clickText("button", "Test")
	first := <-hooked
	g.until(`[...document.querySelectorAll('.card .rows tbody tr')].some(r => r.innerText.includes('test'))`)
	g.must(g.Eval(`document.querySelector('.row-acts [title$="again"]').click()`, nil))
	if again := <-hooked; again != first {
		t.Errorf("what was sent again is %s, not %s", again, first)
	}

	g.clickText(".tabs a", "Events")
	g.shows("No events yet")
	w.submit(`{name: seen, command: "true", resources: {cpu: 0.1}, checks: [{name: x, type: approval}]}`)
	inTable("seen") // nobody reloads
	g.clickText(".tabs a", "Server")
	g.shows("Uptime")
	g.until(`[...document.querySelectorAll('.links a')].some(a => a.getAttribute('href').endsWith('/metrics'))`)
}

// file is a file with that content.
func (w *world) file(content string) string {
	w.t.Helper()
	name := w.t.TempDir() + "/file"
	write(w.t, name, content)
	return name
}
