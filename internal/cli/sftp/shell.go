package sftp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Runner runs a command where the files are and returns its exit code.
type Runner func(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) (int, error)

// Shell reaches files through a shell and the small programs that every image
// with a shell has: stat, cat, mkdir, rm. What is asked about names goes to one
// shell that stays; the content of a file has a command of its own.
type Shell struct {
	run Runner

	mu    sync.Mutex
	agent *agent // nil: not begun, or it has ended
}

// NewShell returns the files that a runner reaches.
func NewShell(run Runner) *Shell { return &Shell{run: run} }

var _ Files = (*Shell)(nil)

// The exit codes of scripts that say more than failure.
const (
	codeMissing = 44
	codeDenied  = 45
)

// prelude is what every script may use: whether a path is there at all.
const prelude = `there() { [ -e "$1" ] || [ -L "$1" ] || exit 44; }
`

// ask runs a script in the shell that stays, with words as its $1, $2 … and
// returns what it has written.
func (s *Shell) ask(ctx context.Context, script string, words ...string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.agent == nil {
		s.agent = newAgent(ctx, s.run)
	}
	out, code, err := s.agent.ask(script, words)
	if err != nil {
		s.agent.close()
		s.agent = nil
		return nil, err
	}
	return out, statusError(code, string(out))
}

// statusError is the error that an exit code, and what was written with it, means.
func statusError(code int, text string) error {
	text = strings.TrimSpace(text)
	switch {
	case code == 0:
		return nil
	case code == codeMissing, strings.Contains(text, "No such file"), strings.Contains(text, "onexistent"):
		return ErrNotFound
	case code == codeDenied, strings.Contains(text, "ermission denied"):
		return ErrDenied
	case text == "":
		return fmt.Errorf("it failed with exit code %d", code)
	}
	return fmt.Errorf("%s", text[:min(len(text), 300)])
}

// Close ends the shell.
func (s *Shell) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.agent != nil {
		s.agent.close()
		s.agent = nil
	}
}

const statFormat = `%f %s %u %g %X %Y`

func parseStat(line string) (Attr, error) {
	f := strings.Fields(line)
	if len(f) != 6 {
		return Attr{}, fmt.Errorf("stat wrote %q", line)
	}
	var n [6]int64
	for i, text := range f {
		base := 10
		if i == 0 {
			base = 16
		}
		v, err := strconv.ParseInt(text, base, 64)
		if err != nil {
			return Attr{}, fmt.Errorf("stat wrote %q", line)
		}
		n[i] = v
	}
	return Attr{Mode: uint32(n[0]), Size: n[1], UID: uint32(n[2]), GID: uint32(n[3]), Atime: time.Unix(n[4], 0), Mtime: time.Unix(n[5], 0)}, nil
}

// Stat implements Files.
func (s *Shell) Stat(ctx context.Context, path string, follow bool) (Attr, error) {
	option := ""
	if follow {
		option = "-L"
	}
	out, err := s.ask(ctx, `there "$1"; exec stat `+option+` -c '`+statFormat+`' -- "$1"`, dashless(path))
	if err != nil {
		return Attr{}, err
	}
	return parseStat(strings.TrimSpace(string(out)))
}

// dashless is a path that no program takes for an option.
func dashless(path string) string {
	if path == "" {
		return "."
	}
	if path[0] == '-' {
		return "./" + path
	}
	return path
}

// listScript writes the names in a directory, each with a zero byte behind it,
// an empty one, and a line of stat for each in the same order.
const listScript = `there "$1"; cd -- "$1" || exit 1
names() { for f in * .[!.]* ..?*; do if [ -e "$f" ] || [ -L "$f" ]; then printf '%s\0' "$f"; fi; done; }
names; printf '\0'; names | xargs -0 stat -c '` + statFormat + `' --`

// List implements Files.
func (s *Shell) List(ctx context.Context, path string) ([]Entry, error) {
	out, err := s.ask(ctx, listScript, dashless(path))
	head, lines, ok := bytes.Cut(out, []byte("\x00\x00"))
	if !ok && bytes.HasPrefix(out, []byte("\x00")) {
		return nil, nil // nothing is in it
	}
	if err != nil && !ok {
		return nil, err
	}
	names := strings.Split(string(head), "\x00")
	stats := strings.Split(strings.TrimSpace(string(lines)), "\n")
	if len(names) != len(stats) { // something went while it was looked at
		return s.listSlowly(ctx, path, names)
	}
	all := make([]Entry, 0, len(names))
	for i, name := range names {
		a, err := parseStat(stats[i])
		if err != nil {
			return s.listSlowly(ctx, path, names)
		}
		all = append(all, Entry{name, a})
	}
	return all, nil
}

func (s *Shell) listSlowly(ctx context.Context, path string, names []string) ([]Entry, error) {
	var all []Entry
	for _, name := range names {
		a, err := s.Stat(ctx, strings.TrimSuffix(path, "/")+"/"+name, false)
		if err == nil {
			all = append(all, Entry{name, a})
		} else if ctx.Err() != nil {
			return nil, err
		}
	}
	return all, nil
}

// Change implements Files.
func (s *Shell) Change(ctx context.Context, path string, c Change) error {
	script := `there "$1"`
	if c.Size != nil {
		script += fmt.Sprintf(` && truncate -s %d "$1"`, *c.Size)
	}
	if c.Owner != nil {
		script += fmt.Sprintf(` && chown %d:%d "$1"`, c.Owner[0], c.Owner[1])
	}
	if c.Mode != nil {
		script += fmt.Sprintf(` && chmod %o "$1"`, *c.Mode)
	}
	if c.Times != nil { // in a form that GNU's and busybox's touch both take
		script += fmt.Sprintf(` && TZ=UTC0 touch -c -a -t %s "$1" && TZ=UTC0 touch -c -m -t %s "$1"`, touchTime(c.Times[0]), touchTime(c.Times[1]))
	}
	_, err := s.ask(ctx, script, dashless(path))
	return err
}

func touchTime(t time.Time) string { return t.UTC().Format("200601021504.05") }

// Remove implements Files.
func (s *Shell) Remove(ctx context.Context, path string) error {
	_, err := s.ask(ctx, `there "$1"; if [ -d "$1" ] && [ ! -L "$1" ]; then echo it is a directory; exit 1; fi; exec rm -f -- "$1"`, dashless(path))
	return err
}

// Mkdir implements Files.
func (s *Shell) Mkdir(ctx context.Context, path string, mode uint32) error {
	_, err := s.ask(ctx, fmt.Sprintf(`exec mkdir -m %o -- "$1"`, mode&0o7777), dashless(path))
	return err
}

// Rmdir implements Files.
func (s *Shell) Rmdir(ctx context.Context, path string) error {
	_, err := s.ask(ctx, `there "$1"; exec rmdir -- "$1"`, dashless(path))
	return err
}

// Rename implements Files.
func (s *Shell) Rename(ctx context.Context, from, to string, replace bool) error {
	script := `there "$1"; if [ -d "$2" ] && [ ! -L "$2" ]; then echo "the target is a directory"; exit 1; fi; `
	if !replace {
		script += `if [ -e "$2" ] || [ -L "$2" ]; then echo "the target is there already"; exit 1; fi; `
	}
	_, err := s.ask(ctx, script+`exec mv -f -- "$1" "$2"`, dashless(from), dashless(to))
	return err
}

// Symlink implements Files.
func (s *Shell) Symlink(ctx context.Context, target, path string) error {
	_, err := s.ask(ctx, `exec ln -s -- "$1" "$2"`, target, dashless(path))
	return err
}

// Readlink implements Files.
func (s *Shell) Readlink(ctx context.Context, path string) (string, error) {
	out, err := s.ask(ctx, `there "$1"; exec readlink "$1"`, dashless(path))
	return strings.TrimSuffix(string(out), "\n"), err
}

// Realpath implements Files. What is not there yet may be asked for.
func (s *Shell) Realpath(ctx context.Context, path string) (string, error) {
	out, err := s.ask(ctx, `if [ -d "$1" ]; then cd -- "$1" && exec pwd; fi
case $1 in */*) d=${1%/*} ;; *) d=. ;; esac
b=${1##*/}
cd -- "${d:-/}" 2>/dev/null || { case $1 in /*) echo "$1" ;; *) echo "$PWD/$1" ;; esac; exit 0; }
p=$PWD; echo "${p%/}/$b"`, dashless(path))
	return strings.TrimSuffix(string(out), "\n"), err
}
