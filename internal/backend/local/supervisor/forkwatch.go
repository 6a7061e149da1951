//go:build linux

package supervisor

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend/local/proc"
)

// Between the moment in which a child has become its account and the one in which it
// has become its command, it shares our memory and we wait for it (vfork(2)), with all
// that the runtime of Go has to hold for that. The account may stop it there, and with
// it this whole process. So another process looks after us meanwhile, and ends a child
// that is stopped on its way. It sleeps while nobody is being started.

// watchArg makes a supervisor's program the one that looks after it.
const watchArg = "--watch-forks"

// stuckEvery is how often it is looked whether a child is stopped on its way.
const stuckEvery = 20 * time.Millisecond

// Words of a supervisor to the process that looks after it.
const (
	forkBegins = 'b'
	forkEnds   = 'e'
)

// forks is the process that looks after this one.
var forks watcher

type watcher struct {
	mu   sync.Mutex
	pipe *os.File // nil: there is none
}

// begin says that a child of an account is about to be made; what is returned, that it
// has become its command, or nothing.
func (w *watcher) begin() (ended func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.say(forkBegins) {
		w.start()
		_ = w.say(forkBegins) // without it all works, until somebody stops a child
	}
	to := w.pipe
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.pipe == to { // else it is another, who has not heard of it
			_ = w.say(forkEnds)
		}
	}
}

// say tells it a word; false: there is none any more. mu is held, as it is in start.
func (w *watcher) say(word byte) bool {
	if w.pipe == nil {
		return false
	}
	if _, err := w.pipe.Write([]byte{word}); err != nil {
		_ = w.pipe.Close()
		w.pipe = nil
	}
	return w.pipe != nil
}

// end lets it go, so that nobody is left in our control group.
func (w *watcher) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pipe != nil {
		_ = w.pipe.Close()
		w.pipe = nil
	}
}

func (w *watcher) start() {
	r, pipe, err := os.Pipe()
	if err != nil || len(os.Args) < 2 {
		return
	}
	defer func() { _ = r.Close() }()
	cmd := exec.Command("/proc/self/exe", os.Args[1], watchArg)
	cmd.Dir, cmd.Env, cmd.Stdin = "/", []string{}, r
	if cmd.Start() != nil {
		_ = pipe.Close()
		return
	}
	_ = cmd.Process.Release() // it is reaped like an orphan
	w.pipe = pipe
}

// watchForks looks after our parent until that closes in.
func watchForks(in io.Reader) int {
	words := make(chan byte)
	go func() {
		defer close(words)
		b := make([]byte, 1)
		for {
			if _, err := io.ReadFull(in, b); err != nil {
				return
			}
			words <- b[0]
		}
	}()
	parent := strconv.Itoa(os.Getppid())
	tick := time.NewTicker(time.Hour)
	tick.Stop()
	for under := 0; ; {
		select {
		case word, ok := <-words:
			if !ok {
				return 0
			}
			if under++; word == forkEnds {
				under -= 2
			}
			if under > 0 {
				tick.Reset(stuckEvery)
			} else {
				tick.Stop()
			}
		case <-tick.C:
			endStuck(parent)
		}
	}
}

// endStuck ends children of a process that are stopped and have not become another
// program yet: they have its command line, as they have its memory.
func endStuck(parent string) {
	pids, _ := proc.ChildrenOf(parent)
	own, err := os.ReadFile("/proc/" + parent + "/cmdline")
	for _, pid := range pids {
		s, e := proc.ReadStat(pid)
		if err != nil || e != nil || s.State != 'T' && s.State != 't' {
			continue
		}
		line, e := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if e == nil && len(own) > 0 && bytes.Equal(line, own) {
			proc.Kill(pid, unix.SIGKILL)
		}
	}
}
