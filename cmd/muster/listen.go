package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/certs"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/engine/launch"
)

// socketMax is the longest path that a unix socket can have on Linux, less one.
const socketMax = 107

// listen opens the unix socket and whatever else was asked for. The address of
// the socket is left in muster.addr for clients. It is only called under the
// data directory's lock, so a socket that is there belongs to a dead server. kept are
// open already, by what --listen says; acme: from whom certificates come, or nil.
func listen(o cli.ServerOptions, handed []net.Listener, kept map[string]net.Listener, acme *certs.Manager) ([]net.Listener, string, error) {
	all, address, err := mainSocket(o.DataDir, handed)
	if err != nil {
		return nil, "", err
	}
	open, err := machineSocket(o, len(handed) > 0)
	if err != nil {
		_ = all[0].Close()
		return nil, "", err
	}
	if open != nil {
		all = append(all, open)
	}
	for _, at := range o.Listen {
		tcp, err := kept[at], error(nil)
		if tcp == nil {
			tcp, err = net.Listen("tcp", at)
		}
		if err != nil {
			err = fmt.Errorf("--listen %q: %w", at, err)
		} else if open, wrong := encrypted(tcp, o, acme); wrong != nil {
			_ = tcp.Close()
			err = wrong
		} else {
			tcp = open
		}
		if err != nil {
			for _, l := range all {
				l.Close()
			}
			return nil, "", err
		}
		all = append(all, tcp)
	}
	if err := os.WriteFile(filepath.Join(o.DataDir, "muster.addr"), []byte(address+"\n"), 0o600); err != nil {
		return nil, "", fmt.Errorf("the address cannot be written: %w", err)
	}
	return all, address, nil
}

// mainSocket is the unix socket: the one that systemd has opened for us, or our own in
// the data directory.
func mainSocket(dataDir string, handed []net.Listener) ([]net.Listener, string, error) {
	for _, l := range handed {
		if a, ok := l.Addr().(*net.UnixAddr); ok && a.Name != "" {
			return []net.Listener{l}, "unix://" + a.Name, nil
		}
	}
	path := filepath.Join(dataDir, "muster.sock")
	if len(path) > socketMax {
		dir, err := shortDir(dataDir, "", 0o700, os.TempDir(), "/tmp")
		if err != nil {
			return nil, "", fmt.Errorf("a directory for the socket cannot be made: %w", err)
		}
		path = filepath.Join(dir, "muster.sock")
	}
	if c, err := net.Dial("unix", path); err == nil {
		_ = c.Close()
		return nil, "", precondition("systemd listens on "+path+", and starts the server itself", "muster server uninstall, or for a while systemctl --user stop muster.socket muster.service")
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("an old socket cannot be removed: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, "", fmt.Errorf("the socket cannot be opened: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, "", fmt.Errorf("the socket cannot be protected: %w", err)
	}
	return []net.Listener{l}, "unix://" + path, nil
}

// shortDir is a directory for a socket, in the first of some that has room for its
// path, where the data directory will not do. It is the same at each start: tasks
// that go on to run find the next server there.
func shortDir(dataDir, suffix string, mode fs.FileMode, in ...string) (string, error) {
	whole, err := filepath.Abs(dataDir)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(whole))
	name := "muster-" + hex.EncodeToString(sum[:5]) + suffix
	in = slices.DeleteFunc(in, func(in string) bool { return len(filepath.Join(in, name, "muster.sock")) > socketMax })
	dir, err := "", fmt.Errorf("no directory for %s has a short path", name)
	for _, in := range in {
		dir = filepath.Join(in, name)
		if err = os.Mkdir(dir, 0o700); err == nil || errors.Is(err, fs.ErrExist) {
			err = nil
			break
		}
	}
	if err != nil {
		return "", err
	}
	// Anyone may make what is in a directory for temporary files.
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || !ok || int(st.Uid) != os.Geteuid() {
		return "", fmt.Errorf("%s is no directory of this user; remove it, or choose a shorter --data-dir", dir)
	}
	return dir, os.Chmod(dir, mode)
}

// forTasks opens the socket at which tasks report, in a directory of its own
// that containers are given: a socket that is made anew is then seen there too.
// Whoever gets to it needs the token of a task. Tasks of other users, as a server
// of root has them, do not come into a data directory that is closed to them.
func forTasks(dataDir string) (net.Listener, string, error) {
	dir, err := filepath.Join(dataDir, "tasks"), error(nil)
	switch {
	case os.Geteuid() == 0 && !forAll(dataDir):
		dir, err = shortDir(dataDir, "-tasks", 0o755, "/run", "/tmp")
	case len(filepath.Join(dir, "muster.sock")) > socketMax:
		dir, err = shortDir(dataDir, "-tasks", 0o755, os.TempDir(), "/tmp")
	}
	if err != nil {
		return nil, "", fmt.Errorf("a directory for the socket of tasks cannot be made: %w", err)
	}
	path := filepath.Join(dir, "muster.sock")
	if err = os.MkdirAll(dir, 0o755); err == nil {
		err = os.Chmod(dir, 0o755) // whatever the mask
	}
	if err == nil {
		if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return nil, "", fmt.Errorf("the socket of tasks has no place: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, "", fmt.Errorf("the socket of tasks cannot be opened: %w", err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		l.Close()
		return nil, "", fmt.Errorf("the socket of tasks cannot be opened to them: %w", err)
	}
	return l, path, nil
}

// closeTasks closes the socket of tasks. A directory of its own elsewhere stays for
// the next server where there are tasks that may be told of it.
func closeTasks(dataDir string, l net.Listener, path string) {
	_ = l.Close()
	left, err := os.ReadDir(filepath.Join(dataDir, "local", "tasks"))
	if dir := filepath.Dir(path); dir != filepath.Join(dataDir, "tasks") && len(left) == 0 && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		_ = os.Remove(dir)
	}
}

// wayOf is how the tasks of each backend reach this server: those of this machine
// by the socket, others at the address that the operator has given, if any.
func wayOf(where *backends, socket, advertised string) func(string, bool) launch.Way {
	const inside = "/.muster/tasks"
	return func(name string, image bool) launch.Way {
		switch {
		case where.local == nil || name != where.local.Name():
			return launch.Way{URL: advertised}
		case !image:
			return launch.Way{URL: "unix://" + socket}
		default:
			return launch.Way{URL: "unix://" + inside + "/" + filepath.Base(socket), Mount: &backend.Mount{Source: filepath.Dir(socket), Target: inside, ReadOnly: true, Own: true}}
		}
	}
}

// shortest is how many characters a token must have.
const shortest = 32

// tokenOf is the token for TCP clients: that which was given, else one that is
// made when it is first wanted.
func tokenOf(o cli.ServerOptions, wanted bool) (string, error) {
	if o.TokenFile == "" {
		return tokenFile(filepath.Join(o.DataDir, "token"), wanted)
	}
	b, err := os.ReadFile(o.TokenFile)
	if err != nil {
		return "", precondition(fmt.Sprintf("--token-file: %v", err), "name a file that the server can read")
	}
	token := strings.TrimSpace(string(b))
	if len(token) < shortest {
		return "", precondition(fmt.Sprintf("--token-file %s: the token has %d characters, which others could guess", o.TokenFile, len(token)), fmt.Sprintf("use at least %d, such as of openssl rand -hex 32", shortest))
	}
	return token, nil
}

// tokenFile reads the token for TCP clients, making one when it is first wanted.
func tokenFile(path string, wanted bool) (string, error) {
	if !wanted {
		return "", nil
	}
	b, err := os.ReadFile(path)
	if err == nil && len(strings.TrimSpace(string(b))) >= shortest {
		return strings.TrimSpace(string(b)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the token cannot be read: %w", err)
	}
	var raw [32]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return "", fmt.Errorf("no randomness for a token: %w", err)
	}
	token := hex.EncodeToString(raw[:])
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("the token cannot be written: %w", err)
	}
	return token, nil
}
