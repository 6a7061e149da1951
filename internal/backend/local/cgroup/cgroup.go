//go:build linux

// Package cgroup gives each task a control group of its own, in whatever
// hierarchies this machine has.
//
// It is given names of tasks and their limits, and gives directories: what is in
// force in them, which processes they hold, and what these use. It knows nothing
// of what a task is.
package cgroup

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend/local/proc"
)

// Tree is what this machine's control groups allow us. A v2 tree gives each
// task a directory that holds its whole process tree, whatever it does to hide;
// limits come from v2 controllers where they are there, else from v1.
type Tree struct {
	v2          string // the tasks' directories are made here; "": no v2
	memory, cpu bool   // controllers of v2
	v1Memory    string // parent for tasks with a memory limit; "": no v1
	V1Home      string // where our own threads belong in v1's memory tree
	v2Home      string // where the supervisor came from
	v2Point     string // where v2 is mounted
	Unified     bool   // there is no v1
	name        string
	second      string   // our directory in v2 that runc uses beside v1: it takes a path to be from the top there
	v1          []string // our directory in each v1 hierarchy, where engines put containers
}

// Group names the directories of one task. Empty: none.
type Group struct {
	V2     string   `json:"v2,omitempty"`
	Memory string   `json:"v1Memory,omitempty"`
	Engine string   `json:"engine,omitempty"` // where an engine runs, if not in V2 itself
	Second string   `json:"second,omitempty"` // of v2 too: where runc puts a container beside v1
	V1     []string `json:"v1,omitempty"`     // a container's in other hierarchies
}

// Mount is a place where a hierarchy of control groups is mounted.
type Mount struct {
	Point, root string
	V1          string // controllers of a v1 hierarchy, comma-separated
}

// Find looks for a place where name (unique to the data directory) can
// have its own tree, and moves the supervisor there: that is both the test of
// whether we may and what keeps a service manager that ends the server's group
// from ending us.
func Find(name string, log *slog.Logger) Tree {
	g := Tree{name: name}
	mounts, err := Mounts()
	if err != nil {
		log.Warn("no control groups", "err", err)
		return g
	}
	own := Own()
	for _, m := range mounts {
		if m.V1 == "" {
			if path, ok := own[""]; ok && g.v2 == "" {
				g.v2, g.v2Home = findV2(m, path, name)
				g.v2Point = m.Point
			}
			continue
		}
		if dir, ok := ownIn(m, own); ok {
			g.v1 = append(g.v1, filepath.Join(dir, "muster-"+name))
		}
		if strings.Contains(","+m.V1+",", ",memory,") {
			if home, ok := Below(m, own["memory"]); ok {
				g.v1Memory, g.V1Home = filepath.Join(home, "muster-"+name), home
			}
		}
	}
	g.Unified = len(g.v1) == 0
	if !g.Unified && g.v2 != "" {
		g.second = filepath.Join(g.v2Point, "muster-"+name)
	}
	if g.v2 != "" {
		g.memory = isThere(filepath.Join(g.v2, "supervisor", "memory.max"))
		g.cpu = isThere(filepath.Join(g.v2, "supervisor", "cpu.weight"))
	}
	if g.memory || unix.Access(g.V1Home, unix.W_OK) != nil {
		g.v1Memory, g.V1Home = "", ""
	}
	return g
}

func findV2(m Mount, own, name string) (dir, home string) {
	home, ok := Below(m, own)
	places := []string{m.Point} // the top first: no limit of the server's own group applies there
	if ok && home != m.Point {
		places = append(places, home)
	}
	for _, parent := range places {
		dir := filepath.Join(parent, "muster", name)
		if makeAll(filepath.Join(dir, "supervisor")) != nil {
			continue
		}
		for _, d := range []string{parent, filepath.Join(parent, "muster"), dir} {
			for _, c := range []string{"+memory", "+cpu"} { // one by one: either may be missing
				_ = os.WriteFile(filepath.Join(d, "cgroup.subtree_control"), []byte(c), 0)
			}
		}
		if os.WriteFile(filepath.Join(dir, "supervisor", "cgroup.procs"), []byte("0"), 0) == nil {
			return dir, home
		}
		_ = os.Remove(filepath.Join(dir, "supervisor"))
		_ = os.Remove(dir)
		_ = os.Remove(filepath.Dir(dir))
	}
	return "", ""
}

// makeAll makes a directory and those above it, also while another supervisor that
// leaves takes an empty one away.
func makeAll(dir string) (err error) {
	for range 10 {
		if err = os.MkdirAll(dir, 0o755); !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return err
}

// Leave removes our own directories, and the one of all supervisors, if nothing is
// in them.
func (g Tree) Leave() {
	if strings.HasPrefix(g.v2Home+"/", g.v2+"/") {
		g.v2Home = g.v2Point // a supervisor before this one moved us
	}
	if g.v2 != "" && g.v2Home != "" {
		left := os.WriteFile(filepath.Join(g.v2Home, "cgroup.procs"), []byte("0"), 0) == nil ||
			os.WriteFile(filepath.Join(g.v2Point, "cgroup.procs"), []byte("0"), 0) == nil // the first is a task's, say, that is over
		if left {
			removeSoon(filepath.Join(g.v2, "supervisor"))
		}
		_ = os.Remove(g.v2)
		_ = os.Remove(filepath.Dir(g.v2))
	}
	for _, dir := range append(g.v1, g.second) {
		_ = os.Remove(dir) // there may be none
	}
}

// removeSoon removes a group that we have left, also where a process of it is just
// about to end: what was forked in it and has not gone on to a group of its own. What
// is still there after a second is ended: no task's, or it would have its own group.
func removeSoon(dir string) {
	for n := range 400 {
		if err := os.Remove(dir); !errors.Is(err, unix.EBUSY) {
			return
		}
		if n == 100 {
			_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0) // Linux 5.14
		}
		time.Sleep(10 * time.Millisecond << min(n/100, 3))
	}
}

// Sweep removes the directories of a supervisor that was killed, where nothing is
// in them; false: something is.
func Sweep(name string) (gone bool) {
	mounts, err := Mounts()
	if err != nil {
		return true
	}
	gone = true
	own := Own()
	for _, m := range mounts {
		if m.V1 != "" {
			if dir, ok := ownIn(m, own); ok {
				_ = os.Remove(filepath.Join(dir, "muster-"+name))
			}
			continue
		}
		places := []string{m.Point}
		if home, ok := Below(m, own[""]); ok {
			places = append(places, home)
		}
		for _, dir := range places {
			for _, left := range []string{filepath.Join("muster", name, "supervisor"), filepath.Join("muster", name), "muster", "muster-" + name} {
				_ = os.Remove(filepath.Join(dir, left))
			}
			gone = gone && !isThere(filepath.Join(dir, "muster", name))
		}
	}
	return gone
}

// ownIn is our own directory in a v1 hierarchy.
func ownIn(m Mount, own map[string]string) (string, bool) {
	for controller, path := range own {
		if controller != "" && strings.Contains(","+m.V1+",", ","+controller+",") {
			return Below(m, path)
		}
	}
	return "", false
}

// ContainerPath is where the engine shall put a container's groups: beside the limits
// that the task has already, so that they are the same. Engines take a relative
// path from their own group in each v1 hierarchy, and with v2 alone an absolute
// one from the top.
func (g Tree) ContainerPath(task string) string {
	if !g.Unified {
		return filepath.Join("muster-"+g.name, task)
	}
	rel, err := filepath.Rel(g.v2Point, filepath.Join(g.v2, task, "box"))
	if err != nil {
		return ""
	}
	return "/" + rel
}

// ErrNoV2 says why a container cannot be made.
var ErrNoV2 = errors.New("containers need control groups of version 2, and this server can make none; mount cgroup2 and run the server as root")

// PrepareContainer prepares the group of a task for a container. An engine that runs in
// it takes the container along, except with v2 alone, where processes may be in
// the leaves only.
func (g Tree) PrepareContainer(t *Group, task string) error {
	if t.V2 == "" {
		return ErrNoV2
	}
	for _, dir := range g.v1 {
		t.V1 = append(t.V1, filepath.Join(dir, task))
	}
	if !g.Unified {
		t.Second = filepath.Join(g.second, task)
		return nil
	}
	t.Engine = filepath.Join(t.V2, "engine")
	if err := os.Mkdir(t.Engine, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// Adopt sees to it that a container is where it will be looked for, whatever
// its engine thinks.
func (g Tree) Adopt(t Group, pid int) error {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		at := filepath.Join(g.v2Point, path) + "/"
		if strings.HasPrefix(at, t.V2+"/") || t.Second != "" && strings.HasPrefix(at, t.Second+"/") {
			return nil
		}
	}
	return writeGroup(t.V2, "cgroup.procs", int64(pid))
}

// EngineDir is the directory that an engine is to run in.
func (t Group) EngineDir() (string, error) {
	if t.Engine != "" {
		return t.Engine, nil
	}
	if t.V2 == "" {
		return "", errors.New("the task has no control group")
	}
	return t.V2, nil
}

// Below turns a path of /proc/self/cgroup into a directory under m.
func Below(m Mount, path string) (string, bool) {
	rel, err := filepath.Rel(m.root, path)
	if path == "" || err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", false
	}
	return filepath.Join(m.Point, rel), true
}

// Mounts lists where control groups are mounted.
func Mounts() ([]Mount, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var all []Mount
	for sc := bufio.NewScanner(f); sc.Scan(); {
		left, right, ok := strings.Cut(sc.Text(), " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 {
			continue
		}
		switch r[0] {
		case "cgroup2":
			all = append(all, Mount{Point: l[4], root: l[3]})
		case "cgroup":
			all = append(all, Mount{Point: l[4], root: l[3], V1: r[2]})
		}
	}
	return all, nil
}

// Own maps each v1 controller, and "" for v2, to our path in it.
func Own() map[string]string {
	own := map[string]string{}
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return own
	}
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 {
			for _, c := range strings.Split(parts[1], ",") {
				own[c] = parts[2]
			}
		}
	}
	return own
}

// Make creates the directories of a task, with limits in force before the
// first process enters. note says what was asked for and cannot be had.
func (g Tree) Make(name string, memory, cpuMilli int64) (t Group, note string, err error) {
	if g.v2 != "" {
		t.V2 = filepath.Join(g.v2, name)
		if err := os.Mkdir(t.V2, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return Group{}, "", err
		}
	}
	if cpuMilli > 0 && g.cpu {
		weight := min(max(cpuMilli/10, 1), 10000) // one core is the kernel's default of 100
		_ = writeGroup(t.V2, "cpu.weight", weight)
	}
	if memory <= 0 {
		return t, "", nil
	}
	switch {
	case g.memory:
		err = writeGroup(t.V2, "memory.max", memory)
		_ = writeGroup(t.V2, "memory.swap.max", 0) // absent without swap
	case g.v1Memory != "":
		t.Memory = filepath.Join(g.v1Memory, name)
		if err = os.MkdirAll(t.Memory, 0o755); err == nil {
			err = writeGroup(t.Memory, "memory.limit_in_bytes", memory)
			_ = writeGroup(t.Memory, "memory.memsw.limit_in_bytes", memory)
		}
	default:
		return t, "the memory limit is not enforced: no writable memory control group on this machine", nil
	}
	if err != nil {
		t.Remove()
		return Group{}, "", fmt.Errorf("memory limit of %d bytes: %w", memory, err)
	}
	return t, "", nil
}

// RemoveUnrecorded removes what make has made for a task, where no record tells of it:
// the supervisor died in between.
func (g Tree) RemoveUnrecorded(name string) {
	var t Group
	if g.v2 != "" {
		t.V2 = filepath.Join(g.v2, name)
	}
	if g.v1Memory != "" {
		t.Memory = filepath.Join(g.v1Memory, name)
	}
	t.Remove()
}

func writeGroup(dir, file string, v int64) error {
	return os.WriteFile(filepath.Join(dir, file), strconv.AppendInt(nil, v, 10), 0)
}

// OOMKilled reports whether the kernel ended a process of the task because of
// its memory limit.
func (t Group) OOMKilled() bool {
	n, _ := keyed(t.V2, "memory.events", "oom_kill")
	old, _ := keyed(t.Memory, "memory.oom_control", "oom_kill")
	return n > 0 || old > 0
}

// NeverUsed reports whether there certainly was no process in the v2 group:
// its clock has counted nothing.
func (t Group) NeverUsed() bool {
	if t.V2 == "" || len(t.Processes()) > 0 {
		return false
	}
	data, err := os.ReadFile(filepath.Join(t.V2, "cpu.stat"))
	return err == nil && strings.HasPrefix(string(data), "usage_usec 0\n")
}

// Processes lists everything in the task's v2 directory and below.
func (t Group) Processes() []int {
	pids := processesIn(t.V2)
	if t.Second != "" {
		pids = append(pids, processesIn(t.Second)...)
	}
	return pids
}

func processesIn(dir string) []int {
	var pids []int
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		data, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		for _, f := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(f); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids
}

// Kill ends everything in the v2 directory, forks in flight included.
func (t Group) Kill() {
	err := os.WriteFile(filepath.Join(t.V2, "cgroup.kill"), []byte("1"), 0)
	if t.Second != "" && isThere(t.Second) {
		err = errors.Join(err, os.WriteFile(filepath.Join(t.Second, "cgroup.kill"), []byte("1"), 0))
	}
	if err == nil {
		return
	}
	for _, pid := range t.Processes() { // before Linux 5.14
		proc.Kill(pid, unix.SIGKILL)
	}
}

// Remove removes the directories; false while a process is in them. To try is
// the cheapest way to ask.
func (t Group) Remove() bool {
	if t.V2 != "" && !removeGroup(t.V2) {
		return false
	}
	for _, dir := range t.V1 {
		if !removeGroup(dir) {
			return false
		}
	}
	if t.Second != "" && !removeGroup(t.Second) {
		return false
	}
	return t.Memory == "" || removeGroup(t.Memory)
}

func removeGroup(dir string) bool {
	err := unix.Rmdir(dir)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return true
	}
	subs, _ := os.ReadDir(dir) // groups that the task made itself
	removed := false
	for _, s := range subs {
		if s.IsDir() && removeGroup(filepath.Join(dir, s.Name())) {
			removed = true
		}
	}
	return removed && unix.Rmdir(dir) == nil
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
