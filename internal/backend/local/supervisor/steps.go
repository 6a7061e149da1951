//go:build linux

package supervisor

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/container"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// The steps of a start run in the task's own shell before the prelude. What
// they come to they write into a file, in the words that Kubernetes has for
// init containers, and the supervisor tells it.
const (
	stageFile = "stage"
	stageEnv  = "MUSTER_STAGE"
	stageDone = "done"
	// stageEvery is how often the file is looked at, while a task has steps to do.
	stageEvery = 100 * time.Millisecond
	// stageReady is the word between the last step and the command.
	stageReady = "PodInitializing"
)

// stepsHead is what the script of every step uses: a step that fails is tried
// again with waits of 1, 2, 4 … 60 seconds.
const stepsHead = `muster_stage() { echo "$1" >"$MUSTER_STAGE"; }
muster_step() { # number of-all retries command…
	muster_n=$1 muster_all=$2 muster_left=$3 muster_wait=1
	shift 3
	while :; do
		muster_stage "Init:$((muster_n - 1))/$muster_all"
		( "$@" ) && return 0
		muster_code=$?
		muster_stage Init:Error
		[ "$muster_left" -gt 0 ] || exit "$muster_code"
		muster_left=$((muster_left - 1))
		sleep 1
		muster_stage Init:CrashLoopBackOff
		sleep "$muster_wait"
		muster_wait=$((muster_wait * 2))
		[ "$muster_wait" -le 60 ] || muster_wait=60
	done
}
`

// withSteps puts the steps of the start before the prelude. where is the stage
// file as the task sees it.
func withSteps(a backend.Assignment, where string) backend.Assignment {
	if len(a.Init) == 0 {
		return a
	}
	var b strings.Builder
	b.WriteString(stepsHead)
	for i, step := range a.Init {
		fmt.Fprintf(&b, "muster_step %d %d %d %s\n", i+1, len(a.Init), step.Retries, spec.ShellWords(step.Argv...))
	}
	b.WriteString("muster_stage " + stageDone + "\nunset -f muster_step muster_stage\nunset " + stageEnv + "\n")
	a.Prelude = append([]byte(b.String()), a.Prelude...)
	a.Env = append(a.Env[:len(a.Env):len(a.Env)], stageEnv+"="+where)
	return a
}

// stagePath is the stage file as the task sees it.
func stagePath(t *task) string {
	if t.container != nil {
		return container.StagePath
	}
	return filepath.Join(t.private, stageFile)
}

// writeStage makes the stage file, which the task may write.
func writeStage(dir string, a backend.Assignment) error {
	if len(a.Init) == 0 {
		return nil
	}
	path := filepath.Join(dir, stageFile)
	if err := os.WriteFile(path, []byte(fmt.Sprintf("Init:0/%d\n", len(a.Init))), 0o600); err != nil {
		return err
	}
	return giveTo(path, a.UID, a.GID)
}

// stage is the word of a task that still does steps; empty: it does not.
func (t *task) stage() string {
	if len(t.a.Init) == 0 {
		return ""
	}
	for range 100 {
		data, err := readStage(filepath.Join(t.private, stageFile))
		word := strings.TrimSpace(string(data))
		switch {
		case err != nil, word == stageDone:
			return ""
		case strings.HasPrefix(word, "Init:") && strings.HasSuffix(string(data), "\n"):
			return word
		}
		time.Sleep(time.Millisecond) // it is being written
	}
	return ""
}

// readStage reads a stage file, which its task may have made as large as it likes.
func readStage(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, 256))
}

// begun notes that the task's process runs: it counts as running, or as
// starting while it has steps to do. The caller holds the lock, or nobody else
// knows the task yet.
func (t *task) begun(at time.Time, note string) {
	t.obs.State, t.obs.Waiting, t.obs.At, t.obs.Message = core.TaskRunning, "", at, note
	t.obs.Image = t.image()
	if word := t.stage(); word != "" {
		t.obs.State, t.obs.Waiting = core.TaskStarting, word
		go t.followSteps(note)
	}
}

// image is the digest of the image that the task runs in; empty: none.
func (t *task) image() string {
	if t.container == nil {
		return ""
	}
	return t.container.Image.Digest
}

// followSteps tells of the steps of a start until the command runs or the task
// has ended.
func (t *task) followSteps(note string) {
	k := t.supervisor
	for {
		time.Sleep(stageEvery)
		word := t.stage()
		k.mu.Lock()
		switch {
		case t.exited:
			k.mu.Unlock()
			return
		case word == t.obs.Waiting:
		case word != "":
			t.obs.Waiting, t.obs.At = word, time.Now()
			k.publish(t.obs)
		case t.obs.Waiting != stageReady:
			t.obs.Waiting, t.obs.At = stageReady, time.Now()
			k.publish(t.obs)
		default:
			t.obs.State, t.obs.Waiting, t.obs.At, t.obs.Message = core.TaskRunning, "", time.Now(), note
			k.publish(t.obs)
			k.mu.Unlock()
			return
		}
		k.mu.Unlock()
	}
}

// catchUp tells of what a command was too quick for: that the steps before it
// were done, and that it ran. The caller holds the lock.
func (t *task) catchUp(at time.Time) {
	k := t.supervisor
	if t.obs.State != core.TaskStarting {
		return
	}
	if t.obs.Waiting != stageReady {
		t.obs.Waiting, t.obs.At = stageReady, at
		k.publish(t.obs)
	}
	t.obs.State, t.obs.Waiting, t.obs.At, t.obs.Message = core.TaskRunning, "", at, ""
	k.publish(t.obs)
}

// stepFailed is what to say of a task that ended in a step of its start; empty:
// it did not.
func (t *task) stepFailed(code int) string {
	if t.stage() == "" {
		return ""
	}
	return fmt.Sprintf("a step of its start (init) failed with code %d", code)
}
