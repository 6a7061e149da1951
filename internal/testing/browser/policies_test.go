package browser_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheFormShowsWhatPoliciesSay has what is locked and bounded stand in the form before
// anything is typed, and what is against it at its field.
func TestTheFormShowsWhatPoliciesSay(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "policy.yaml")
	policy := `
scope: default
for: training
defaults: {env: {PROXY: "http://proxy"}, maxDuration: 2h}
rules:
  env: {instances: {locked: [PROXY]}}
  priority: {canEdit: false}
  resources.cpu: {max: 4}
  resources.gpu.type: {options: [{value: h100, displayed: the fast ones}, a100]}
  patience: {min: 1m, max: 10m}
`
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	w.muster("policy", "create", "-f", file)
	g := w.enter(1280, 800)
	g.visit("submit")
	g.until(planned)
	// What is locked has its value, cannot be typed, and says who keeps it so.
	g.until(field("priority") + `?.disabled && ` + field("priority") + `.value !== ''`)
	rule := func(path string) string { return `document.querySelector('[data-path="` + path + `"] .field-rule')` }
	g.until(rule("priority") + `.innerText.includes('locked at') && ` + rule("priority") + `.innerText.includes('(policy default/training)') && !!` + rule("priority") + `.querySelector('svg')`)
	g.until(rule("resources.cpu") + `.innerText.includes('at most 4')`)
	g.until(rule("maxDuration") + `.innerText.includes('by default 2h') && ` + field("maxDuration") + `.placeholder === '2h'`)
	g.until(`[...` + field("resources.gpu.type") + `.options].some(o => o.text === 'the fast ones' && o.value === 'h100')`)
	// A locked entry stands in its map.
	g.must(g.Eval(`document.querySelectorAll('.group summary').forEach(e => e.click())`, nil))
	g.until(rule("env") + `?.innerText.includes('PROXY') && ` + rule("env") + `.innerText.includes('locked at http://proxy')`)
	g.until(rule("patience") + `.innerText.includes('1m to 10m')`)
	// What is against it stands at its field, and what is right is submitted with the rest filled in.
	g.rewrite("yaml", "name: filled\ncommand: echo $PROXY; sleep 1000\nresources: {cpu: 5}\n")
	g.until(`document.querySelector('[data-path="resources.cpu"] .field-bad')?.innerText.includes('the policy for training of project default')`)
	g.rewrite("yaml", "name: filled\ncommand: echo $PROXY; sleep 1000\nresources: {cpu: 0.1}\n")
	g.until(planned + ` && !document.querySelector('[data-path="resources.cpu"] .field-bad')`)
	g.clickText(".page-actions button", "Submit")
	g.until(`location.pathname.endsWith('/ui/workloads/default/filled')`)
	if out := w.muster("get", "filled", "-o", "json"); !strings.Contains(out, `"PROXY": "http://proxy"`) && !strings.Contains(out, `"PROXY":"http://proxy"`) {
		t.Errorf("what was left out is not filled in: %s", out)
	}
}
