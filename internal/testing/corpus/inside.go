package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// outcome is what became of a script on one side.
type outcome struct {
	Code    int                 // of sbatch
	Message string              // by sbatch
	Ended   bool                // all jobs came to an end by themselves
	Jobs    []map[string]string // fields of scontrol show job
	Files   map[string]string   // that have come or changed, by path
	Records []string            // of stubs
}

// What both sides have: nodes on one, and one node on the other, which has the CPUs of
// one of them, so that what is a job's own, and what fits on a node, is the same.
const (
	nodes       = 16
	cpusOfNode  = 4096
	gpusOfNode  = 8
	firstNumber = 20001 // of jobs, so that no other number in a text is one
)

// inside runs the plan on one side, on a machine made for it.
func inside(s side, work string) error {
	data, err := os.ReadFile(filepath.Join(work, "plan.json"))
	if err != nil {
		return err
	}
	var p plan
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	m := &host{side: s, work: work, env: environment}
	if err := m.start(); err != nil {
		return err
	}
	var all []outcome
	for _, script := range p.Scripts {
		o, err := m.one(script, p.Wait)
		if err != nil {
			return fmt.Errorf("%s: %w", script.Name, err)
		}
		all = append(all, o)
	}
	if data, err = json.Marshal(all); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(work, string(s), "outcomes.json"), data, 0o600)
}

// host is the machine of one side.
type host struct {
	side   side
	work   string
	env    []string
	before map[string]time.Time // files of the machine's own, with when they were written
}

const patience = time.Minute // for what comes to an end unless something is broken

func (m *host) run(wait time.Duration, dir, name string, args ...string) (string, int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, m.env, time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(out), exit.ExitCode(), nil
	}
	return string(out), 0, err
}

// until waits for a condition.
func until(what string, wait time.Duration, is func() bool) error {
	for end := time.Now().Add(wait); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("after %s still not: %s", wait, what)
		}
	}
	return nil
}

func (m *host) start() error {
	run := filepath.Join(m.work, string(m.side), "run")
	log, err := os.Create(filepath.Join(run, "log"))
	if err != nil {
		return err
	}
	var cmd *exec.Cmd
	if m.side == slurm {
		cmd = exec.Command(filepath.Join(m.work, "slurm.sh"), "serve", "/", run, strconv.Itoa(nodes), strconv.Itoa(cpusOfNode), strconv.Itoa(gpusOfNode))
		cmd.Env = append(slices.Clone(m.env), "FIRST="+strconv.Itoa(firstNumber))
		m.env = append(slices.Clone(m.env), "SLURM_CONF="+run+"/slurm.conf")
	} else {
		m.env = append(slices.Clone(m.env), "MUSTER_NO_AUTOSTART=1")
		cmd = exec.Command(filepath.Join(m.work, "program"), "server", "--fake-cpus", strconv.Itoa(cpusOfNode), "--fake-gpus", strconv.Itoa(nodes*gpusOfNode), "--log-level", "warn")
		cmd.Env = m.env
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	if m.side == slurm {
		err = until("every node is idle", patience, func() bool {
			out, code, err := m.run(patience, "/", "sinfo", "-h", "-N", "-o", "%T %G")
			return err == nil && code == 0 && strings.Count(out, "idle gpu:") == nodes
		})
	} else {
		err = m.startMuster()
	}
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%w\n%s", err, text)
	}
	if err := m.raise(); err != nil {
		return err
	}
	m.before, err = m.files()
	return err
}

// startMuster links the tools' names, and makes what scripts ask for.
func (m *host) startMuster() error {
	if err := os.Link(filepath.Join(m.work, "program"), "/usr/local/bin/muster"); err != nil {
		if err := copyFile(filepath.Join(m.work, "program"), "/usr/local/bin/muster"); err != nil {
			return err
		}
	}
	if err := until("the server answers", patience, func() bool {
		_, code, err := m.run(patience, "/", "muster", "get")
		return err == nil && code == 0
	}); err != nil {
		return err
	}
	for _, args := range [][]string{{"compat", "install", "/usr/local/bin", "--only", "slurm"}, {"pool", "create", "all", "--selector", "os=linux"}} {
		if out, code, err := m.run(patience, "/", "muster", args...); err != nil || code != 0 {
			return fmt.Errorf("muster %s: exit code %d, %w\n%s", strings.Join(args, " "), code, err, out)
		}
	}
	return nil
}

// raise lets the numbers of jobs be such as no script has in its text.
func (m *host) raise() error {
	if m.side == slurm {
		return nil
	}
	for last := 0; last < firstNumber-1; {
		out, code, err := m.run(patience, rootsHome, "sbatch", "--hold", "--parsable", "--array=1-10000", "--output=/dev/null", "--wrap", "true")
		if err != nil || code != 0 {
			return fmt.Errorf("sbatch: exit code %d, %w\n%s", code, err, out)
		}
		if last, err = strconv.Atoi(strings.TrimSpace(out)); err != nil {
			return fmt.Errorf("sbatch --parsable: %w", err)
		}
	}
	if out, code, err := m.run(patience, "/", "muster", "delete", "*", "--yes"); err != nil || code != 0 {
		return fmt.Errorf("muster delete: exit code %d, %w\n%s", code, err, out)
	}
	return nil
}

// one runs one script.
func (m *host) one(s planned, wait time.Duration) (outcome, error) {
	var o outcome
	var err error
	if o.Message, o.Code, err = m.run(wait, s.Dir, "sbatch", filepath.Base(s.Name)); err != nil {
		o.Message += err.Error()
		o.Code = -1
	}
	left := func() (int, bool) {
		out, code, err := m.run(patience, "/", "squeue", "-h", "-r", "-o", "%i")
		return len(strings.Fields(out)), err == nil && code == 0
	}
	empty := func() bool {
		n, known := left()
		return known && n == 0
	}
	o.Ended = settles(left, wait)
	for tries := 0; !empty(); tries++ {
		if tries == 60 { // an array of a thousand takes a while
			return o, errors.New("a job does not end")
		}
		if _, _, err := m.run(patience, "/", "scancel", "-u", "root"); err != nil {
			return o, err
		}
		_ = until("no job is left", 5*time.Second, empty)
	}
	if n := submitted.FindStringSubmatch(o.Message); n != nil {
		number, _ := strconv.Atoi(n[1])
		if o.Jobs, err = m.jobs(number); err != nil {
			return o, err
		}
	}
	if o.Records, err = m.records(); err != nil {
		return o, err
	}
	o.Files, err = m.changed()
	return o, err
}

// longer is how many times the wait of a script its jobs may take, as long as there are
// ever fewer of them.
const longer = 10

// settles waits until no job is left: for wait, and for as long again whenever fewer are
// left than ever before, since those of an array of hundreds end one after another. Left
// counts them, where it can.
func settles(left func() (int, bool), wait time.Duration) bool {
	fewest := -1
	begun := time.Now()
	for end := begun.Add(wait); ; time.Sleep(min(wait/20, 50*time.Millisecond)) {
		n, known := left()
		switch {
		case known && n == 0:
			return true
		case known && (fewest < 0 || n < fewest):
			if fewest >= 0 {
				end = time.Now().Add(wait)
			}
			fewest = n
		case time.Now().After(end), time.Since(begun) > longer*wait:
			return false
		}
	}
}

var submitted = regexp.MustCompile(`Submitted batch job (\d+)`)

var jobField = regexp.MustCompile(`(?:^| )([A-Z][A-Za-z/:]*)=`)

// jobs are those of the submission that was given that number.
func (m *host) jobs(number int) (all []map[string]string, err error) {
	out, _, err := m.run(patience, "/", "scontrol", "-o", "show", "job", strconv.Itoa(number))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		at := jobField.FindAllStringSubmatchIndex(line, -1)
		j := map[string]string{}
		for i, a := range at {
			end := len(line)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			j[line[a[2]:a[3]]] = line[a[1]:end]
		}
		if j["JobId"] != "" {
			all = append(all, j)
		}
	}
	return all, nil
}

func (m *host) records() (all []string, err error) {
	files, err := os.ReadDir(records)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		path := filepath.Join(records, f.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(string(data), "program nvidia-smi --query-gpu=uuid") { // the server's own, which looks for GPUs
			all = append(all, string(data))
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	slices.Sort(all)
	return all, nil
}

// files are those that are not the same as on the machine below, with when they were written.
func (m *host) files() (map[string]time.Time, error) {
	up := filepath.Join(m.work, string(m.side), "up")
	all := map[string]time.Time{}
	err := filepath.WalkDir(up, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went while this came by
		}
		if err != nil {
			return err
		}
		at := strings.TrimPrefix(path, up)
		if e.IsDir() && (at == records || at == filepath.Join(rootsHome, ".local") || at == "/run" || at == "/var" || strings.HasPrefix(at, "/tmp/muster")) {
			return fs.SkipDir
		}
		if !e.Type().IsRegular() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			all[at] = info.ModTime()
		}
		return nil
	})
	return all, err
}

const longest = 256 << 10 // of a file is kept

func (m *host) changed() (map[string]string, error) {
	now, err := m.files()
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for path, at := range now {
		if was, is := m.before[path]; is && was.Equal(at) {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			continue // a whiteout, or gone
		}
		all[path] = string(data[:min(len(data), longest)])
	}
	m.before = maps.Clone(now)
	return all, nil
}
