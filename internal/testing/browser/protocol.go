// Package browser drives a real browser, headless Chromium, for tests of the
// pages. It speaks the browser's own protocol, of which it needs a dozen calls:
// less than a library would bring. Firefox does the same for what people do (StartFirefox).
package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// names are what Chromium is called, in the order in which they are looked for.
var names = []string{"chromium", "chromium-browser", "google-chrome", "chrome"}

// shell is the same engine without windows of its own, which nobody sees here: it takes
// three quarters of the processor time.
const shell = "chromium-headless-shell"

// ErrNone says that there is no browser on this machine.
var ErrNone = errors.New("no browser is installed; scripts/packages installs chromium and chromium-headless-shell")

// Browser is a running browser.
type Browser struct {
	cmd *exec.Cmd
	dir string
	ws  *websocket.Conn
	end context.CancelFunc
	ctx context.Context

	at   string // where it listens
	bidi bool   // it is Firefox, and speaks WebDriver BiDi

	mu      sync.Mutex
	last    int
	front   string // in Firefox: the tab that is seen
	waiting map[int]chan answer
	pages   map[string]*Page // by session
	gone    error
}

type answer struct {
	result json.RawMessage
	err    error
}

// startLimit is how long a browser may take to be there.
const startLimit = 60 * time.Second

// Start starts a browser with a profile of its own, which Close removes: the engine alone
// where that is installed. It has no clipboard, shows no notifications, and each of its
// tabs takes itself for the one that is seen; for these there is StartWhole.
func Start() (*Browser, error) { return start(append([]string{shell}, names...)) }

// StartWhole is Start of a browser as people have it, without a window on a screen.
func StartWhole() (*Browser, error) { return start(names) }

func start(names []string) (*Browser, error) {
	program := ""
	for _, n := range names {
		if p, err := exec.LookPath(n); err == nil {
			program = p
			break
		}
	}
	if program == "" {
		return nil, ErrNone
	}
	dir, err := os.MkdirTemp("", "muster-browser-")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "--headless", "--remote-debugging-port=0", "--user-data-dir="+dir,
		"--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-extensions",
		"--disable-component-update", "--disable-sync", "--mute-audio", "--hide-scrollbars", "--font-render-hinting=none", "--disable-crash-reporter",
		// Each window would load pages of the browser's own, for an address bar that nobody sees.
		"--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup", "about:blank")
	b, err := launch(cmd, dir, "DevTools listening on ")
	if err != nil {
		return nil, err
	}
	if err := b.connect(b.at); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// launch starts a browser whose profile is in a directory, and waits until it says where
// it listens.
func launch(cmd *exec.Cmd, dir, says string) (*Browser, error) {
	cmd.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir) // what it leaves when it is killed goes with the profile
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("the browser does not start: %w", err)
	}
	b := &Browser{cmd: cmd, dir: dir, waiting: map[int]chan answer{}, pages: map[string]*Page{}}
	b.ctx, b.end = context.WithCancel(context.Background())
	if b.at, err = address(stderr, says); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// address reads where the browser listens, and goes on reading what it says.
func address(stderr io.Reader, says string) (string, error) {
	found, failed := make(chan string, 1), make(chan error, 1)
	go func() {
		var lines []string
		sc := bufio.NewScanner(stderr)
		for sc.Scan() {
			if url, ok := strings.CutPrefix(sc.Text(), says); ok {
				found <- url
				break
			}
			lines = append(lines, sc.Text())
		}
		if sc.Err() != nil || len(found) == 0 {
			failed <- fmt.Errorf("the browser ended: %s", strings.Join(lines, "; "))
		}
		_, _ = io.Copy(io.Discard, stderr)
	}()
	select {
	case url := <-found:
		return url, nil
	case err := <-failed:
		return "", err
	case <-time.After(startLimit):
		return "", errors.New("the browser did not say where it listens")
	}
}

func (b *Browser) connect(url string) error {
	ctx, cancel := context.WithTimeout(b.ctx, startLimit)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return fmt.Errorf("the browser does not answer: %w", err)
	}
	ws.SetReadLimit(256 << 20) // screenshots
	b.ws = ws
	go b.listen()
	return nil
}

// Close ends the browser and removes its profile.
func (b *Browser) Close() {
	if b.ws != nil {
		ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
		if b.bidi {
			b.closeBidi(ctx)
		} else {
			_, _ = b.call(ctx, "", "Browser.close", nil)
		}
		cancel()
		b.ws.CloseNow() //nolint:errcheck // it is over
	}
	b.end()
	done := make(chan struct{})
	go func() { _ = b.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		_ = b.cmd.Process.Kill()
		<-done
	}
	for range 20 { // its helpers write for a moment more
		if os.RemoveAll(b.dir) == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

type message struct {
	ID      int             `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Session string          `json:"sessionId"`
	Error   *failure        `json:"error"`
	Message string          `json:"message"` // of an error, in BiDi
}

// failure is why something was not done: an object, or in BiDi a word.
type failure struct {
	Message string `json:"message"`
}

func (f *failure) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &f.Message)
	}
	type plain failure
	return json.Unmarshal(data, (*plain)(f))
}

func (b *Browser) listen() {
	for {
		_, data, err := b.ws.Read(b.ctx)
		var m message
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		b.mu.Lock()
		if err != nil {
			b.gone = fmt.Errorf("the browser is gone: %w", err)
			for id, w := range b.waiting {
				w <- answer{err: b.gone}
				delete(b.waiting, id)
			}
			b.mu.Unlock()
			return
		}
		w, page := b.waiting[m.ID], b.pages[m.Session]
		delete(b.waiting, m.ID)
		b.mu.Unlock()
		switch {
		case w != nil && m.Error != nil:
			w <- answer{err: errors.New(strings.TrimSpace(m.Error.Message + " " + m.Message))}
		case w != nil:
			w <- answer{result: m.Result}
		case b.bidi:
			b.happenedBidi(m.Method, m.Params)
		case page != nil:
			page.happened(m.Method, m.Params)
		}
	}
}

// call asks the browser, or a page by its session, and waits for the answer.
func (b *Browser) call(ctx context.Context, session, method string, params any) (json.RawMessage, error) {
	w := make(chan answer, 1)
	b.mu.Lock()
	if b.gone != nil {
		b.mu.Unlock()
		return nil, b.gone
	}
	b.last++
	id := b.last
	b.waiting[id] = w
	b.mu.Unlock()
	m := map[string]any{"id": id, "method": method}
	if params != nil {
		m["params"] = params
	} else if b.bidi {
		m["params"] = struct{}{}
	}
	if session != "" && !b.bidi {
		m["sessionId"] = session
	}
	data, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if err := b.ws.Write(ctx, websocket.MessageText, data); err != nil {
		return nil, err
	}
	select {
	case a := <-w:
		if a.err != nil {
			return nil, fmt.Errorf("%s: %w", method, a.err)
		}
		return a.result, nil
	case <-ctx.Done():
		b.mu.Lock()
		delete(b.waiting, id)
		b.mu.Unlock()
		return nil, fmt.Errorf("%s: %w", method, ctx.Err())
	}
}
