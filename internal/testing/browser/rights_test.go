package browser_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestWhatOnesRolesRefuseIsNotOffered looks at the pages as somebody who may not do
// everything: what would be refused says so before it is pressed.
func TestWhatOnesRolesRefuseIsNotOffered(t *testing.T) {
	w := newWorld(t)
	link := w.link()
	w.url = link[:strings.Index(link, "/ui/")]
	w.muster("department", "create", "research")
	w.muster("project", "create", "vision", "--parent", "research")
	w.muster("project", "create", "nlp")
	w.submit(`{name: theirs, project: vision, command: "sleep 1000", resources: {cpu: 0.1}}`)
	w.submit(`{name: hidden, project: nlp, command: "sleep 1000", resources: {cpu: 0.1}}`)
	w.muster("user", "create", "vera")
	w.muster("access-rule", "create", "--user", "vera", "--role", "viewer", "--department", "research")
	w.muster("user", "create", "lena")
	w.muster("access-rule", "create", "--user", "lena", "--role", "project-lead", "--department", "research")
	w.muster("access", "enable")
	enter := func(user string) *page {
		t.Helper()
		var made struct{ Text string }
		if err := json.Unmarshal([]byte(w.muster("token", "create", "--user", user, "-o", "json")), &made); err != nil {
			t.Fatal(err)
		}
		g := w.newPage(1280, 800)
		g.must(g.Open(w.url + "/ui/login"))
		g.until(`document.activeElement.id === 'token'`)
		g.write(made.Text)
		g.press("Enter")
		g.until(`location.pathname.endsWith('/ui/workloads')`)
		return g
	}
	offered := func(g *page, path, label string, yes bool) {
		t.Helper()
		g.visit(path)
		find := `[...document.querySelectorAll('main button')].find(b => b.innerText.trim() === ` + quoted(label) + `)`
		if yes {
			g.until(find + `?.getAttribute('aria-disabled') === null`)
			return
		}
		g.until(find + `?.getAttribute('aria-disabled') === 'true' && ` + find + `.title.startsWith('No role of yours allows')`)
	}
	vera := enter("vera")
	vera.shows("theirs")
	vera.until(`!document.body.innerText.includes('hidden')`)
	for path, label := range map[string]string{"workloads/vision/theirs": "Stop", "projects": "New project", "projects/vision": "Stop", "settings?tab=pools": "New pool", "settings?tab=templates": "New template", "settings?tab=rules": "Edit"} {
		offered(vera, path, label, false)
	}
	vera.visit("workloads/vision/theirs?tab=terminal")
	vera.shows("No terminal here")
	lena := enter("lena")
	lena.visit("submit")
	lena.until(yamlText + `.includes('project: vision')`)
	lena.click(".presets button")
	lena.until(yamlText + `.includes('project: vision')`)
	offered(lena, "workloads/vision/theirs", "Stop", true)
	offered(lena, "settings?tab=pools", "New pool", false)

	// Where access control is off, all is offered again.
	w.muster("access", "disable")
	offered(vera, "projects", "New project", true)
}
