package browser_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/testing/browser"
)

func init() {
	ready := `document.querySelector('.submit-form .field') && document.querySelector('.headline') && !document.querySelector('[data-stale]')`
	screens = append(screens,
		screen{name: "submit", path: "submit", ready: ready},
		screen{name: "submit-wrong", path: "submit", ready: ready, then: func(g *page) {
			g.rewrite("yaml", "name: Nope!\ncommand: python3 train.py\nresources:\n  gpu: lots\nmaxDuraton: 1h\n")
			g.until(`document.querySelectorAll('.wrongs li').length === 3`)
		}},
		screen{name: "submit-displaces", path: "submit", ready: ready, then: func(g *page) {
			g.rewrite("yaml", "name: urgent\nkind: distributed\ncommand: torchrun train.py\nworkers: 8\npriority: very-high\nresources: {gpu: 1, cpu: 0.05}\n")
			g.until(`document.querySelector('.headline') && !document.querySelector('[data-stale]') && document.querySelector('.editor textarea').value.includes('urgent')`)
		}},
		screen{name: "submit-converted", path: "submit", ready: ready, then: func(g *page) {
			g.paste("paste", sbatch)
			g.until(`document.querySelector('.notes tbody tr') && !document.querySelector('[data-stale]')`)
		}},
		screen{name: "submit-groups", path: "submit", ready: ready, then: func(g *page) {
			g.must(g.Eval(`document.querySelectorAll('.group summary').forEach(e => e.click())`, nil))
			g.until(`document.querySelectorAll('.field').length > 60`)
		}},
	)
}

const sbatch = `#!/bin/bash
#SBATCH --job-name=ddp
#SBATCH --nodes=2
#SBATCH --gres=gpu:2
#SBATCH --time=01:00:00
#SBATCH --mail-type=END
#SBATCH --exclusive
srun python3 train.py
`

// rewrite replaces what a field holds, as typing does.
func (g *page) rewrite(id, text string) {
	g.t.Helper()
	g.must(g.Eval(`(() => { const e = document.getElementById('`+id+`'); e.focus(); e.value = `+browser.Quote(text)+`; e.dispatchEvent(new Event('input', {bubbles: true})) })()`, nil))
}

// paste pastes text into a field.
func (g *page) paste(id, text string) {
	g.t.Helper()
	g.must(g.Eval(`(() => { const e = document.getElementById('`+id+`'); e.focus(); e.select?.(); const d = new DataTransfer(); d.setData('text/plain', `+browser.Quote(text)+`); const p = new ClipboardEvent('paste', {clipboardData: d, bubbles: true, cancelable: true}); if (!p.clipboardData?.getData('text/plain')) Object.defineProperty(p, 'clipboardData', {value: d}); e.dispatchEvent(p) })()`, nil))
}

// field is a JavaScript expression: the control of a field of the form.
func field(path string) string {
	return `document.querySelector('[data-path="` + path + `"] :is(input,select,textarea)')`
}

const yamlText = `document.getElementById('yaml').value`

// planned is a JavaScript expression that is true once the plan is of what stands there.
const planned = `(document.querySelector('.headline') && !document.querySelector('[data-stale]'))`

func TestSubmittingWithFormAndYAML(t *testing.T) {
	w := newWorld(t)
	g := w.enter(1280, 800)
	g.shows("No workloads yet")
	g.press("g", "s")
	g.until(`document.querySelector('h1').innerText === 'Submit' && ` + planned)
	// The YAML changes the form …
	g.rewrite("yaml", "---\n# kept\nname: first # too\ncommand: echo out of the form; sleep 1000\nresources: {gpu: 2, cpu: 0.1}\n")
	g.until(field("name") + `.value === 'first' && ` + field("resources.gpu") + `.value === '2' && ` + planned)
	g.until(`document.querySelector('.headline').innerText === 'Starts at once'`)
	g.until(`document.querySelector('.plan').innerText.includes('2 GPUs') && document.querySelector('.plan').innerText.includes('nobody')`)
	// … and the form the YAML, which keeps what its author wrote beside.
	g.must(g.Eval(field("name")+`.focus(); `+field("name")+`.select()`, nil))
	g.write("second")
	g.until(yamlText + `.includes('name: second') && ` + yamlText + `.startsWith('---\n# kept\n')`)
	g.must(g.Eval(field("resources.gpu")+`.focus(); `+field("resources.gpu")+`.select()`, nil))
	g.write("lots")
	// What is wrong stands at its field, at its line, and keeps it from being submitted.
	g.until(`document.querySelector('[data-path="resources.gpu"] .field-bad')`)
	g.until(`document.querySelector('.editor pre [data-bad]')`)
	g.until(`[...document.querySelectorAll('.page-actions button')].some(b => b.innerText === 'Submit' && b.getAttribute('aria-disabled') === 'true' && b.title.includes('problem'))`)
	g.must(g.Eval(field("resources.gpu")+`.focus(); `+field("resources.gpu")+`.select()`, nil))
	g.write("1")
	g.until(planned + ` && document.querySelector('.headline').innerText === 'Starts at once'`)
	g.clickText(".page-actions button", "Submit")
	g.until(`location.pathname.endsWith('/ui/workloads/default/second')`)
	g.until(`document.querySelector('.page-sub .status')?.innerText === 'Running'`)
	if out := w.muster("get", "second", "-o", "json"); !strings.Contains(out, `out of the form`) {
		t.Errorf("what was submitted is another: %s", out)
	}
	// Stop it there.
	g.clickText("button", "Stop")
	g.clickText("dialog button", "Stop")
	g.until(`document.querySelector('.page-sub .status').innerText === 'Stopped'`)
}

func TestThePlanSaysWhoWouldBeDisplaced(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: humble, command: "sleep 1000", priority: low, resources: {gpu: 8, cpu: 0.1}}`)
	g := w.enter(1280, 800)
	g.until(row("humble") + `.includes('Running')`)
	g.visit("submit")
	g.until(planned)
	g.rewrite("yaml", "command: \"true\"\npriority: high\nresources: {gpu: 4, cpu: 0.1}\n")
	g.until(planned + ` && document.querySelector('.headline').innerText.includes('after preempting')`)
	g.until(`document.querySelector('.plan-others').innerText.includes('humble')`)
	g.rewrite("yaml", "command: \"true\"\npriority: high\nresources: {gpu: 9, cpu: 0.1}\n")
	g.until(planned + ` && !document.querySelector('.headline').innerText.includes('after preempting')`)
	g.rewrite("yaml", "command: \"true\"\nchecks: [{name: legal, type: approval}]\nresources: {cpu: 0.1}\n")
	g.until(planned + ` && document.querySelector('.headline').innerText.includes('approved') && document.querySelector('.plan').innerText.includes('legal')`)
}

func TestAnSbatchScriptIsPasted(t *testing.T) {
	w := newWorld(t)
	g := w.enter(1280, 800)
	g.visit("submit")
	g.until(planned)
	g.paste("paste", sbatch)
	g.shows("Converted the pasted text from sbatch")
	g.until(yamlText + `.includes('namePrefix: ddp')`)
	g.until(`document.querySelector('.notes').innerText.includes('--mail-type')`)
	g.until(field("workers") + `.value === '2'`)
	g.until(planned + ` && document.querySelector('.headline').innerText === 'Starts at once'`)
	// What cannot be read at all is refused at its line, and changes nothing.
	g.paste("paste", "#!/bin/bash\n#SBATCH --gres=tpu:x:y:z\n#SBATCH --nodes=zero\nsrun x\n")
	g.shows("Could not convert the pasted text")
	g.until(yamlText + `.includes('namePrefix: ddp')`)
	// The text stays, with the line marked, also when the page is read anew; mended, it is taken.
	const marked = `document.querySelector('#refused')?.value.includes('--nodes=zero') && document.querySelectorAll('.notes .editor-numbers [data-bad]').length > 0`
	g.until(marked)
	g.must(g.Call("Page.reload", map[string]any{}))
	g.until(planned + " && " + marked)
	g.rewrite("refused", "#!/bin/bash\n#SBATCH --job-name=mended\n#SBATCH --nodes=2\nsrun x\n")
	g.clickText(".notes button", "Convert again")
	g.until(yamlText + `.includes('mended') && !document.querySelector('#refused')`)
	// A file with several makes several.
	g.paste("paste", "apiVersion: v1\nkind: Pod\nmetadata: {name: one}\nspec: {restartPolicy: Never, containers: [{name: a, image: busybox, command: [\"true\"]}]}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: two}\nspec: {restartPolicy: Never, containers: [{name: a, image: busybox, command: [\"true\"]}]}\n")
	g.shows("Converted the pasted text from Kubernetes")
	g.clickText(".submit-bar button", "two")
	g.until(yamlText + `.includes('name: two')`)
	g.until(`[...document.querySelectorAll('.page-actions button')].some(b => b.innerText === 'Submit 2')`)
}

// A document that stands in a file twice is meant twice.
func TestEqualDocumentsAreSubmittedEach(t *testing.T) {
	w := newWorld(t)
	g := w.enter(1280, 800)
	g.visit("submit")
	g.until(planned)
	const one = "namePrefix: twin\ncommand: \"true\"\nresources: {cpu: 0.1}\n"
	g.paste("paste", one+"---\n"+one)
	g.until(`[...document.querySelectorAll('.page-actions button')].some(b => b.innerText === 'Submit 2') && ` + planned)
	g.clickText(".page-actions button", "Submit 2")
	g.shows("Submitted 2 workloads")
	g.until(`[...document.querySelectorAll('tbody tr')].filter(r => r.innerText.includes('twin') && r.innerText.includes('Completed')).length === 2`)
}
