package kubetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// process is one that follows orders on its standard input and ends with it,
// also when this process is killed: the kernel closes the pipe.
type process struct {
	command    *exec.Cmd
	complaints string // path of its standard error

	mu      sync.Mutex
	orders  io.WriteCloser
	answers *json.Decoder
}

// order is a line that it understands; see tools/kubernetes/controlplane.
type order struct {
	Do      string   `json:"do"`
	Name    string   `json:"name,omitempty"`
	Command []string `json:"command,omitempty"`
	Address string   `json:"address,omitempty"`
}

// launch starts a process and waits for its first line, which it reads into
// ready. How long that may take the process itself bounds.
func launch(dir string, ready any, program string, args ...string) (*process, error) {
	p := &process{command: exec.Command(program, args...), complaints: filepath.Join(dir, "errors.log")}
	errors, err := os.Create(p.complaints)
	if err != nil {
		return nil, err
	}
	defer errors.Close()
	p.command.Stderr = errors
	answers, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.orders, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	p.answers = json.NewDecoder(answers)
	if err := p.answers.Decode(ready); err != nil {
		p.close() // what it complains about says more
		return nil, p.explain(err)
	}
	return p, nil
}

// order has an order carried out.
func (p *process) order(o order) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := json.NewEncoder(p.orders).Encode(o); err != nil {
		return p.explain(err)
	}
	var answer struct{ Error string }
	if err := p.answers.Decode(&answer); err != nil {
		return p.explain(err)
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return nil
}

// explain adds what the process has said last.
func (p *process) explain(err error) error {
	output, _ := os.ReadFile(p.complaints)
	if text := strings.TrimSpace(string(output)); text != "" {
		return fmt.Errorf("%w: it said: %s", err, text[max(0, len(text)-2000):])
	}
	return err
}

// endWithin bounds how long a process may take to end.
const endWithin = time.Minute

// close ends it and waits. Twice is once, and never started is ended.
func (p *process) close() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.command.ProcessState != nil {
		return nil
	}
	p.orders.Close()
	late := time.AfterFunc(endWithin, func() { p.command.Process.Kill() })
	defer late.Stop()
	if err := p.command.Wait(); err != nil {
		return p.explain(err)
	}
	return nil
}
