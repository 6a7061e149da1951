package browser_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/testing/browser"
)

// shared is a browser that tests share; each has pages of its own.
type shared struct {
	sync.Once
	b   *browser.Browser
	err error
}

// one is that of most tests, whole that of those which take more than an engine, and fox
// that of TestInFirefox.
var one, whole, fox shared

// everywhere has all tests look at the pages in Firefox, but for those which ask for what
// only Chromium's protocol has: these are skipped.
var everywhere = os.Getenv("MUSTER_BROWSER") == "firefox"

// of is the browser that a test is for, whatever it would have otherwise.
func (s *shared) of(t testing.TB, start func() (*browser.Browser, error)) *browser.Browser {
	t.Helper()
	if everywhere || strings.HasPrefix(t.Name(), inFirefox) {
		return fox.browser(t, browser.StartFirefox)
	}
	return s.browser(t, start)
}

// browser starts it for the first who asks.
func (s *shared) browser(t testing.TB, start func() (*browser.Browser, error)) *browser.Browser {
	t.Helper()
	s.Do(func() { s.b, s.err = start() })
	if errors.Is(s.err, browser.ErrNone) || errors.Is(s.err, browser.ErrNoFirefox) {
		t.Skip(s.err)
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.b
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, s := range []*shared{&one, &whole, &fox} {
		if s.b != nil {
			s.b.Close()
		}
	}
	if built != "" {
		os.RemoveAll(filepath.Dir(built))
	}
	os.Exit(code)
}

// world is a real server with a browser before it.
type world struct {
	t    testing.TB
	bin  string
	dir  string
	url  string
	cmd  *exec.Cmd
	args []string
	b    *browser.Browser
}

var (
	building sync.Mutex
	built    string
)

// program is the binary under test: that of the whole run, or one built once.
func program(t testing.TB) string {
	t.Helper()
	if bin := os.Getenv("MUSTER_BIN"); bin != "" {
		return bin
	}
	building.Lock()
	defer building.Unlock()
	if built != "" {
		return built
	}
	dir, err := os.MkdirTemp("", "muster-built-")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "muster")
	cmd := exec.Command("go", "build", "-o", bin, "./cmd/muster")
	cmd.Dir = "../../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	built = bin
	return bin
}

// newWorld starts a server with 8 GPUs that are not there, on a port of its own
// for browsers.
func newWorld(t testing.TB, args ...string) *world {
	t.Helper()
	return newWorldIn(t, one.of(t, browser.Start), args...)
}

// newWorldInWhole is newWorld before a browser as people have it.
func newWorldInWhole(t testing.TB, args ...string) *world {
	t.Helper()
	return newWorldIn(t, whole.of(t, browser.StartWhole), args...)
}

// newWorldIn is newWorld before a browser of one's own.
func newWorldIn(t testing.TB, b *browser.Browser, args ...string) *world {
	t.Helper()
	w := &world{t: t, bin: program(t), dir: t.TempDir(), args: append([]string{"--fake-gpus", "8"}, args...), b: b}
	w.start()
	t.Cleanup(w.end)
	return w
}

// start runs the server and waits until it is ready.
func (w *world) start() {
	w.t.Helper()
	w.cmd = exec.Command(w.bin, append([]string{"server", "--data-dir", w.dir}, w.args...)...)
	log, err := os.OpenFile(filepath.Join(w.dir, "test.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	defer log.Close()
	w.cmd.Stdout, w.cmd.Stderr = log, log
	// What a shell of the machine's own user does when it begins is not under test.
	w.cmd.Env = append(os.Environ(), "HOME="+w.dir)
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := w.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	for deadline := time.Now().Add(browser.Patience); ; time.Sleep(20 * time.Millisecond) {
		if _, err := w.try("server", "status"); err == nil {
			return
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(log.Name())
			w.t.Fatalf("the server does not come up:\n%s", text)
		}
	}
}

// stop ends the server; what it runs goes on.
func (w *world) stop() {
	w.t.Helper()
	_ = w.cmd.Process.Signal(syscall.SIGTERM)
	_ = w.cmd.Wait()
}

// end stops all that runs, so that the server takes its helper with it.
func (w *world) end() {
	for _, p := range w.projects() {
		for tries := 1; ; tries++ {
			names, err := w.try("get", "-p", p, "--all", "--status", "Starting,Running,Restarting", "--limit", "0", "-o", "name")
			if err != nil {
				w.t.Error(err)
			}
			list := strings.Fields(names)
			if len(list) == 0 {
				break
			}
			// Some may come to their own end meanwhile: then it is looked once more.
			if _, err := w.try(append([]string{"stop", "-p", p, "--yes", "--wait"}, list...)...); err == nil {
				break
			} else if tries == 5 {
				w.t.Error(err)
				break
			}
		}
	}
	w.stop()
}

// projects are the names of all, none of which starts anything any more.
func (w *world) projects() []string {
	names, err := w.try("project", "list", "-o", "name")
	if err != nil {
		w.t.Error(err)
	}
	all := strings.Fields(names)
	for _, p := range all {
		if _, err := w.try("project", "stop", p); err != nil {
			w.t.Error(err)
		}
	}
	return all
}

func (w *world) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), browser.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.bin, append([]string{"--data-dir", w.dir, "--no-autostart"}, args...)...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("muster %s: %w\n%s%s", strings.Join(args, " "), err, out.String(), said.String())
	}
	return out.String(), nil
}

// muster runs a command, which must succeed, and returns what it printed.
func (w *world) muster(args ...string) string {
	w.t.Helper()
	out, err := w.try(args...)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// submit submits a document and returns the name of what came of it.
func (w *world) submit(doc string) string {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "doc.yaml")
	if err := os.WriteFile(file, []byte(doc), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(w.muster("run", "-f", file, "-o", "name"))
}

// link is a URL that lets a browser in.
func (w *world) link() string {
	w.t.Helper()
	var out struct{ URL string }
	if err := json.Unmarshal([]byte(w.muster("ui", "-o", "json")), &out); err != nil {
		w.t.Fatal(err)
	}
	return out.URL
}

// page is a browser's page whose methods fail the test.
type page struct {
	*browser.Page
	t testing.TB
	w *world
}

// enter opens a page that is logged in.
func (w *world) enter(width, height int) *page {
	w.t.Helper()
	g := w.newPage(width, height)
	link := w.link()
	w.url = link[:strings.Index(link, "/ui/")]
	g.must(g.Open(link))
	g.until(`location.pathname.endsWith('/ui/workloads')`)
	return g
}

// enterByToken is enter for who has the server's token: another user.
func (w *world) enterByToken(width, height int) *page {
	w.t.Helper()
	g := w.newPage(width, height)
	link := w.link()
	w.url = link[:strings.Index(link, "/ui/")]
	g.must(g.Open(w.url + "/ui/login"))
	g.until(`document.activeElement.id === 'token'`)
	token, err := os.ReadFile(filepath.Join(w.dir, "token"))
	g.must(err)
	g.write(strings.TrimSpace(string(token)))
	g.press("Enter")
	g.until(`location.pathname.endsWith('/ui/workloads')`)
	return g
}

func (w *world) newPage(width, height int) *page {
	w.t.Helper()
	p, err := w.b.NewPage(width, height)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.watched(p)
}

// another opens a tab beside a page.
func (g *page) another(path string) *page {
	g.t.Helper()
	p, err := g.Another(1280, 800)
	g.must(err)
	n := g.w.watched(p)
	n.must(n.Open(g.w.url + "/ui/" + path))
	return n
}

// watched is a page that must not complain.
func (w *world) watched(p *browser.Page) *page {
	w.t.Helper()
	g := &page{Page: p, t: w.t, w: w}
	w.t.Cleanup(func() {
		for _, c := range p.Complaints() {
			w.t.Errorf("the page complains: %s", c)
		}
		if w.t.Failed() {
			if dir := os.Getenv("MUSTER_UI_SHOTS"); dir != "" {
				_ = p.Screenshot(filepath.Join(dir, "failed-"+strings.ReplaceAll(w.t.Name(), "/", "-")+".png"))
			}
		}
		p.Close()
	})
	return g
}

func (g *page) must(err error) {
	g.t.Helper()
	if errors.Is(err, browser.ErrOnlyChromium) && everywhere {
		g.t.Skip("with MUSTER_BROWSER=firefox: ", err) // Firefox has no such command
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

// visit goes to a path below the pages and waits until its heading is there.
func (g *page) visit(path string) {
	g.t.Helper()
	g.must(g.Open(g.w.url + "/ui/" + path))
	g.must(g.Until(`document.querySelector('h1') && !document.querySelector('.loading')`))
}

func (g *page) shows(text string)          { g.t.Helper(); g.must(g.Shows(text)) }
func (g *page) until(js string)            { g.t.Helper(); g.must(g.Until(js)) }
func (g *page) click(selector string)      { g.t.Helper(); g.must(g.Click(selector)) }
func (g *page) clickText(tag, text string) { g.t.Helper(); g.must(g.ClickText(tag, text)) }

// clickUntil clicks until something is so: what is clicked may move away below
// the pointer while the page still grows.
func (g *page) clickUntil(tag, text, want string) {
	g.t.Helper()
	for done, begun := false, time.Now(); !done; {
		g.clickText(tag, text)
		for tried := time.Now(); !done && time.Since(tried) < 5*time.Second; time.Sleep(50 * time.Millisecond) {
			g.must(g.Eval(`Boolean(`+want+`)`, &done))
		}
		if time.Since(begun) > browser.Patience {
			g.t.Fatalf("clicking %s does not make it so: %s", text, want)
		}
	}
}

func (g *page) press(keys ...string) { g.t.Helper(); g.must(g.Press(keys...)) }
func (g *page) write(text string)    { g.t.Helper(); g.must(g.Type(text)) }

// row is a JavaScript expression: the text of the row of a workload.
func row(name string) string {
	return `([...document.querySelectorAll('tbody tr')].find(r => r.querySelector('.row-link')?.innerText === ` + browser.Quote(name) + `)?.innerText ?? '')`
}

// node is the name of the one node that there is.
func (w *world) node() string {
	w.t.Helper()
	return strings.TrimSpace(w.muster("node", "list", "-o", "name"))
}
