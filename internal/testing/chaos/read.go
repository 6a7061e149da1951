//go:build linux

package chaos

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
)

// end reads all that the server has to tell, ends it, and looks for what is left.
func (w *World) end(ctx context.Context) (*History, error) {
	h := &History{
		Entries: w.ledger.entries, Deeds: w.ledger.deeds, Answers: w.ledger.answers, Streamed: w.observer.streamed, Scans: w.observer.scans,
		Logs: map[Run]string{}, Charged: map[string]float64{},
	}
	for _, read := range []func(context.Context, *History) error{w.workloads, w.transitions, w.logs, w.usage} {
		if err := read(ctx, h); err != nil {
			return nil, fmt.Errorf("read what became of all: %w", err)
		}
	}
	w.host.signal(syscall.SIGTERM)
	if err := w.host.gone(); err != nil {
		w.found(Violation{Kind: Fault, Who: "server", Detail: err.Error()})
	}
	var left []string
	if !waitFor(within, func() bool { left = w.left(); return len(left) == 0 }) {
		for _, what := range left {
			w.found(Violation{Kind: Left, Who: what, Detail: "is still there after the end of all"})
		}
	}
	for _, file := range []string{w.host.log, filepath.Join(w.host.data, "local", "supervisor.log")} {
		data, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		h.Wrote = append(h.Wrote, string(data))
	}
	data, err := os.ReadFile(w.evidence)
	if err != nil {
		return nil, err
	}
	if h.Marks, err = ParseEvidence(string(data)); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	h.Seen = w.violations
	return h, nil
}

func (w *World) workloads(ctx context.Context, h *History) error {
	for cursor := ""; ; {
		page, err := w.host.conn.Workloads(ctx, client.ListOptions{Deleted: true, Limit: 200, Cursor: cursor})
		if err != nil {
			return err
		}
		h.Workloads = append(h.Workloads, page.Items...)
		if cursor = page.Next; cursor == "" {
			return nil
		}
	}
}

func (w *World) transitions(ctx context.Context, h *History) error {
	for after := int64(0); ; {
		page, err := w.host.conn.Transitions(ctx, "", "", after, 5000, "")
		if err != nil {
			return err
		}
		h.Transitions = append(h.Transitions, page.Items...)
		if page.Next == "" || len(page.Items) == 0 {
			return nil
		}
		after = page.Items[len(page.Items)-1].Seq
	}
}

func (w *World) logs(ctx context.Context, h *History) error {
	for i := range h.Workloads {
		x := &h.Workloads[i]
		if x.Phase == "Deleted" || x.Phase == "Deleting" {
			continue
		}
		for _, run := range runsOf(x) {
			body, err := w.host.conn.Logs(ctx, client.AllProjects, x.ID, client.LogOptions{Attempt: &run.Attempt, Task: run.Index, Run: &run.Run.Run})
			if p := (*api.Problem)(nil); errors.As(err, &p) && p.Code == "no_logs" {
				continue
			}
			if err != nil {
				return fmt.Errorf("logs of %s: %w", run.Run, err)
			}
			text, err := io.ReadAll(body)
			_ = body.Close()
			if err != nil {
				return fmt.Errorf("logs of %s: %w", run.Run, err)
			}
			h.Logs[run.Run] = string(text)
		}
	}
	return nil
}

func (w *World) usage(ctx context.Context, h *History) error {
	all, err := w.host.conn.Usage(ctx, client.UsageOptions{By: []string{"workload"}})
	if err != nil {
		return err
	}
	for _, u := range all.Items {
		h.Charged[u.ID] += u.GPUSeconds
	}
	return nil
}

// left is what should not be there once the server and its supervisor have ended.
func (w *World) left() []string {
	var all []string
	for _, p := range scan(w.name) {
		all = append(all, fmt.Sprintf("process %d of %s", p.pid, p.run))
	}
	if pid := w.host.supervisor(); pid != 0 {
		all = append(all, fmt.Sprintf("supervisor %d", pid))
	}
	for _, name := range []string{"muster.sock", "tasks/muster.sock", "local/supervisor.sock"} {
		if _, err := os.Stat(filepath.Join(w.host.data, name)); err == nil {
			all = append(all, "socket "+name)
		}
	}
	for _, name := range []string{"tasks", "trash"} {
		dirs, _ := os.ReadDir(filepath.Join(w.host.data, "local", name))
		for _, d := range dirs {
			all = append(all, "directory local/"+name+"/"+d.Name())
		}
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, w.host.data+"/") {
			all = append(all, "mount "+strings.TrimSpace(line))
		}
	}
	for _, g := range w.host.groups() {
		all = append(all, "control group "+g)
	}
	return all
}

// groups are the control groups of the data directory, the deepest first.
func (h *host) groups() []string {
	sum := sha256.Sum256([]byte(filepath.Join(h.data, "local")))
	name := hex.EncodeToString(sum[:6]) // as the supervisor calls them
	var all []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.Contains(path, name) {
			all = append(all, path)
		}
		return nil
	})
	slices.Reverse(all)
	return all
}
