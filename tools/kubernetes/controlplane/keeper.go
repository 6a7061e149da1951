package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
)

// supervisor runs children by name and follows orders, one JSON object a line. It
// ends, and all children with it, when the orders end: whoever gives them may
// be killed at any moment and still leaves nothing behind. A child that ends
// without being told to ends the supervisor too.
//
// Only one goroutine, that of main, may start children: see init in main.go.
type keeper struct {
	dir    string                       // where the children's logs are
	extra  map[string]func(order) error // what this supervisor can do beside
	failed chan error                   // the first child that ended by itself

	mu       sync.Mutex
	children map[string]*child
}

type child struct {
	name    string
	argv    []string
	pid     int
	ordered bool // its end is
	gone    chan struct{}
}

// order is what a line asks for.
type order struct {
	Do      string   `json:"do"`                // start, kill, or one of the supervisor's own
	Name    string   `json:"name,omitempty"`    // of the child
	Command []string `json:"command,omitempty"` // of a child that is new
	Address string   `json:"address,omitempty"` // what it is about
}

// answer is the line that follows each order.
type answer struct {
	Error string `json:"error,omitempty"`
}

func newKeeper(dir string) *keeper {
	k := &keeper{dir: dir, failed: make(chan error, 1), children: map[string]*child{}}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	go func() {
		for range ended {
			k.reap()
		}
	}()
	return k
}

// reap takes leave of all that has ended, also of processes that it has not
// started: in a node the supervisor is the first process, and orphans become its.
func (k *keeper) reap() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		for _, c := range k.children {
			if c.pid != pid {
				continue
			}
			c.pid = 0
			close(c.gone)
			if !c.ordered {
				k.fail(fmt.Errorf("%s ended by itself, with %s: see %s", c.name, describe(status), k.log(c.name)))
			}
		}
	}
}

func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return status.Signal().String()
	}
	return fmt.Sprint("exit code ", status.ExitStatus())
}

func (k *keeper) fail(err error) {
	select {
	case k.failed <- err:
	default: // the first one says why
	}
}

func (k *keeper) log(name string) string { return filepath.Join(k.dir, name+".log") }

// start starts a child, or one that ended again; without a command, with the
// one that it had.
func (k *keeper) start(name string, argv ...string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.children[name]
	switch {
	case c == nil && len(argv) == 0:
		return fmt.Errorf("start %s: it never ran, so its command must be told", name)
	case c == nil:
		c = &child{name: name}
		k.children[name] = c
	case c.pid != 0:
		return fmt.Errorf("start %s: it runs already, as process %d", name, c.pid)
	}
	if len(argv) > 0 {
		c.argv = argv
	}
	out, err := os.OpenFile(k.log(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	defer out.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	defer null.Close()
	pid, err := syscall.ForkExec(c.argv[0], c.argv, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{null.Fd(), out.Fd(), out.Fd()},
		// A group of its own: Ctrl-C on the terminal is for the supervisor.
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true},
	})
	if err != nil {
		return fmt.Errorf("start %s: %s: %w", name, c.argv[0], err)
	}
	c.pid, c.ordered, c.gone = pid, false, make(chan struct{})
	return nil
}

// kill ends a child with SIGKILL and waits until it is gone. One that does not
// run is gone already.
func (k *keeper) kill(name string) error {
	k.mu.Lock()
	c := k.children[name]
	if c == nil {
		k.mu.Unlock()
		return fmt.Errorf("kill %s: there is no such child", name)
	}
	if c.pid == 0 {
		k.mu.Unlock()
		return nil
	}
	c.ordered = true
	gone, err := c.gone, syscall.Kill(c.pid, syscall.SIGKILL)
	k.mu.Unlock()
	if err != nil {
		return fmt.Errorf("kill %s: %w", name, err)
	}
	<-gone
	return nil
}

// close kills all children.
func (k *keeper) close() {
	k.mu.Lock()
	var names []string
	for name := range k.children {
		names = append(names, name)
	}
	k.mu.Unlock()
	for _, name := range names {
		k.kill(name) // gone or not, there is nothing more to do about it
	}
}

// follow carries out the orders of in until they end, a signal comes, or a
// child ends by itself, which is the error. Each order is answered on out.
// Without in it just waits.
func (k *keeper) follow(in io.Reader, out io.Writer) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	var orders chan order
	if in != nil {
		orders = make(chan order)
		go read(in, orders)
	}
	for {
		select {
		case <-signals:
			return nil
		case err := <-k.failed:
			return err
		case o, more := <-orders:
			if !more {
				return nil
			}
			var a answer
			if err := k.obey(o); err != nil {
				a.Error = err.Error()
			}
			if err := json.NewEncoder(out).Encode(a); err != nil {
				return nil // nobody listens any more
			}
		}
	}
}

// read sends what in says; what is no order is one that cannot be obeyed.
func read(in io.Reader, orders chan<- order) {
	defer close(orders)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			o = order{Do: lines.Text()}
		}
		orders <- o
	}
}

func (k *keeper) obey(o order) error {
	switch o.Do {
	case "start":
		return k.start(o.Name, o.Command...)
	case "kill":
		return k.kill(o.Name)
	}
	if do, ok := k.extra[o.Do]; ok {
		return do(o)
	}
	return errors.New("no such order: " + o.Do)
}
