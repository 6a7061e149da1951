package podexec

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/backend/kube/naming"
)

// notFound is what a shell says of a program that is not there.
const notFound = 127

// becomes turns into the command, on a terminal.
const becomes = `MUSTER_EXEC=$0; export MUSTER_EXEC
command -v "$1" >/dev/null 2>&1 || exit 127
exec "$@"`

// watches runs the command and says how it ended. What a shell has to say about
// signals is not output of the command. It stays until its input ends: of a
// command that is gone a cluster drops what is still on its way to one who reads
// slowly.
func watches(input bool) string {
	from := ""
	if !input {
		from = " </dev/null"
	}
	return `MUSTER_EXEC=$0; export MUSTER_EXEC
command -v "$1" >/dev/null 2>&1 || exit 127
exec 3>&2 2>/dev/null
(exec "$@" 2>&3 3>&-` + from + `)
code=$?
printf '\036%s:%d\n' "$MUSTER_EXEC" "$code"
printf '\036%s:%d\n' "$MUSTER_EXEC" "$code" >&3
cat >/dev/null || while read -r _; do :; done
exit "$code"`
}

// inherits takes environment and directory of the task's first process, which
// are not those of the container where something ran before the command. It need
// not be the first of its namespace.
const inherits = `exec 3>&2 2>/dev/null
for d in /proc/[0-9]*; do
	n=${d#/proc/}
	[ -z "$first" ] || [ "$n" -lt "$first" ] || continue
	tr '\0' '\n' <"$d/environ" | grep -q '^MUSTER_TASK_ID=' && first=$n
done
cd -P "/proc/$first/cwd"
vars=$(tr '\0\n' '\n\001' <"/proc/$first/environ" | sed "s/'/'\\\\''/g;s/^/'/;s/\$/'/" | tr '\n\001' ' \n')
exec 2>&3 3>&-
eval "set -- $vars \"\$@\""
exec env "$@"`

// killScript ends all that has a token. What is being started meanwhile is found
// the next time round.
const killScript = `exec 2>/dev/null
idle=0
while [ "$idle" -lt 3 ]; do
	idle=$((idle+1))
	for d in /proc/[0-9]*; do
		if tr '\0' '\n' <"$d/environ" | grep -qx "MUSTER_EXEC=$0"; then
			kill -9 "${d#/proc/}" && idle=0 && some=1
		fi
	done
	[ "$idle" = 0 ] || [ -n "$some" ] || sleep 1
done`

// wrapping is what is put around a command in a container.
type wrapping struct {
	token   string
	env     []string // KEY=value
	prelude bool     // something of ours ran before the task's command
	tty     bool
	input   bool // the command reads what it is sent
}

// words is the command with what is put around it.
func (w wrapping) words(argv []string) []string {
	script := becomes
	if !w.tty {
		script = watches(w.input)
	}
	core := append([]string{"/bin/sh", "-c", script, w.token}, argv...)
	if len(w.env) > 0 {
		core = slices.Concat(w.env, core)
	}
	switch {
	case w.prelude:
		return append([]string{"/bin/sh", "-c", inherits, "muster"}, core...)
	case len(w.env) > 0:
		return append([]string{"env"}, core...)
	}
	return core
}

// mark begins the word of watches.
func (w wrapping) mark() []byte { return []byte("\036" + w.token + ":") }

// hasPrelude reports whether something of ours ran before the command and may
// have changed its environment and directory.
func hasPrelude(pod *corev1.Pod) bool {
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == naming.Container {
			return slices.Contains(c.Command, naming.Prelude)
		}
	}
	return false
}

// lacksShell reports whether a command could not be run because there is no
// shell in the container. Nothing but the text of the error tells.
func lacksShell(err error) bool { return strings.Contains(err.Error(), `"/bin/sh"`) }

// verdict passes a stream on without the word of watches.
type verdict struct {
	w       io.Writer // nil: nowhere
	mark    []byte
	started func() // called once, when it has come

	mu   sync.Mutex
	hold []byte // may be the beginning of the mark
	exit *int
}

// Write implements io.Writer.
func (v *verdict) Write(b []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.exit != nil {
		return len(b), v.pass(b)
	}
	all := append(v.hold, b...)
	at := 0
	for {
		next := bytes.Index(all[at:], v.mark)
		if next < 0 {
			at = len(all) - partly(all[at:], v.mark)
			break
		}
		at += next
		word := all[at+len(v.mark):]
		end := bytes.IndexByte(word, '\n')
		if end < 0 && len(word) <= longestCode {
			break // the rest of it is on its way
		}
		if code, err := strconv.Atoi(string(word[:max(end, 0)])); err == nil && end <= longestCode {
			v.exit, v.hold = &code, nil
			v.started()
			return len(b), v.pass(slices.Concat(all[:at], word[end+1:]))
		}
		at += len(v.mark) // someone else wrote it, or in between; the stream's end will do
	}
	err := v.pass(all[:at])
	v.hold = slices.Clone(all[at:])
	return len(b), err
}

// longestCode is how many digits an exit code has at most.
const longestCode = 3

// partly is how many bytes at the end of b begin the mark.
func partly(b, mark []byte) int {
	for n := min(len(b), len(mark)-1); n > 0; n-- {
		if bytes.HasSuffix(b, mark[:n]) {
			return n
		}
	}
	return 0
}

func (v *verdict) pass(b []byte) error {
	if v.w == nil || len(b) == 0 {
		return nil
	}
	_, err := v.w.Write(b)
	return err
}

// close passes on what was held back.
func (v *verdict) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	_ = v.pass(v.hold)
	v.hold = nil
}

// code is how the command ended, if it has said so.
func (v *verdict) code() (int, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.exit == nil {
		return 0, false
	}
	return *v.exit, true
}
