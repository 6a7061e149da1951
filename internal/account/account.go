// Package account looks up accounts of the operating system: by getent(1), which asks
// whatever the machine is set up to ask (files, LDAP, SSSD …), and where there is none
// in /etc/passwd and /etc/group.
//
// It is given names and numbers, and gives what osuser decides upon. What it has
// found it keeps for a short time, as a start of many tasks asks for the same again
// and again.
package account

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/core/osuser"
)

const (
	// keepFor is how long an account that was found is believed: for so long somebody
	// who was taken out of a group may still start tasks in it.
	keepFor = 15 * time.Second
	// askFor bounds one question to getent.
	askFor = 20 * time.Second
	// keepMost bounds how many are kept.
	keepMost = 10_000
)

// Book looks up accounts. It may be used by several goroutines. Root is where /etc is
// found, and what getent would say is not asked, where it is not empty.
type Book struct {
	Root string

	mu   sync.Mutex
	kept map[string]kept
}

type kept struct {
	osuser.Account
	until time.Time
}

// ByUID is the account of a number; osuser.ErrNone: there is none.
func (b *Book) ByUID(uid uint32) (osuser.Account, error) {
	return b.find(strconv.FormatUint(uint64(uid), 10), func(a osuser.Account) bool { return a.UID == uid })
}

// ByName is the account of a name; osuser.ErrNone: there is none.
func (b *Book) ByName(name string) (osuser.Account, error) {
	if name == "" || name[0] == '-' || strings.ContainsAny(name, ":\n\x00") {
		return osuser.Account{}, osuser.ErrNone
	}
	// getent takes a name of digits for a number.
	return b.find(name, func(a osuser.Account) bool { return a.Name == name })
}

func (b *Book) find(key string, is func(osuser.Account) bool) (osuser.Account, error) {
	b.mu.Lock()
	k, ok := b.kept[key]
	b.mu.Unlock()
	if ok && time.Now().Before(k.until) && is(k.Account) {
		return k.Account, nil
	}
	a, err := b.ask(key, is)
	if err != nil {
		return a, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept == nil || len(b.kept) >= keepMost {
		b.kept = map[string]kept{}
	}
	b.kept[key] = kept{a, time.Now().Add(keepFor)}
	return a, nil
}

// ask looks an account up, with its groups and limits.
func (b *Book) ask(key string, is func(osuser.Account) bool) (osuser.Account, error) {
	lines, err := b.entries("passwd", key)
	if err != nil {
		return osuser.Account{}, err
	}
	for line := range strings.Lines(lines) {
		a, ok := parsePasswd(line)
		if !ok || !is(a) {
			continue
		}
		var names []string
		if a.Groups, names, err = b.groups(a); err != nil {
			return osuser.Account{}, err
		}
		a.Limits = osuser.LimitsOf(b.limits(), a.Name, a.UID, names)
		return a, nil
	}
	return osuser.Account{}, osuser.ErrNone
}

func parsePasswd(line string) (osuser.Account, bool) {
	f := strings.Split(strings.TrimRight(line, "\n"), ":")
	if len(f) < 7 || f[0] == "" {
		return osuser.Account{}, false
	}
	uid, err := strconv.ParseUint(f[2], 10, 32)
	gid, err2 := strconv.ParseUint(f[3], 10, 32)
	return osuser.Account{Name: f[0], UID: uint32(uid), GID: uint32(gid), Home: f[5], Shell: f[6]}, err == nil && err2 == nil
}

// groups are the further groups of an account, by number, and all of them by name, its
// own too.
func (b *Book) groups(a osuser.Account) (ids []uint32, names []string, err error) {
	if b.asks() {
		// NAME, and its groups by number
		text, err := getent("initgroups", a.Name)
		if err != nil && !errors.Is(err, osuser.ErrNone) {
			return nil, nil, err
		}
		f := strings.Fields(text)
		for _, word := range f[min(1, len(f)):] {
			if n, err := strconv.ParseUint(word, 10, 32); err == nil && uint32(n) != a.GID {
				ids = append(ids, uint32(n))
			}
		}
		numbers := []string{strconv.FormatUint(uint64(a.GID), 10)}
		for _, id := range ids {
			numbers = append(numbers, strconv.FormatUint(uint64(id), 10))
		}
		text, err = getent("group", numbers...)
		if err != nil && !errors.Is(err, osuser.ErrNone) {
			return nil, nil, err
		}
		for line := range strings.Lines(text) {
			name, _, _ := strings.Cut(line, ":")
			names = append(names, name)
		}
		slices.Sort(ids)
		return slices.Compact(ids), names, nil
	}
	text, err := b.read("/etc/group")
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < 4 {
			continue
		}
		n, err := strconv.ParseUint(f[2], 10, 32)
		own := err == nil && uint32(n) == a.GID
		if err != nil || !own && !slices.Contains(strings.Split(f[3], ","), a.Name) {
			continue
		}
		if names = append(names, f[0]); !own {
			ids = append(ids, uint32(n))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), names, nil
}

// entries are lines of a database that may be about a key.
func (b *Book) entries(database, key string) (string, error) {
	if b.asks() {
		return getent(database, key)
	}
	return b.read("/etc/" + database)
}

func (b *Book) read(path string) (string, error) {
	data, err := os.ReadFile(filepath.Join("/", b.Root, path))
	if err != nil {
		return "", fmt.Errorf("look up accounts of this machine: %w", err)
	}
	return string(data), nil
}

// limits are the lines of limits.conf(5) and of what lies beside it, in the order in
// which pam_limits(8) reads them.
func (b *Book) limits() string {
	files, _ := filepath.Glob(filepath.Join("/", b.Root, "/etc/security/limits.d/*.conf"))
	slices.Sort(files)
	var all strings.Builder
	for _, f := range append([]string{filepath.Join("/", b.Root, "/etc/security/limits.conf")}, files...) {
		if data, err := os.ReadFile(f); err == nil {
			all.Write(data)
			all.WriteByte('\n')
		}
	}
	return all.String()
}

// hasGetent is where getent(1) is; empty: nowhere.
var hasGetent = sync.OnceValue(func() string {
	path, err := exec.LookPath("getent")
	if err != nil {
		return ""
	}
	return path
})

func (b *Book) asks() bool { return b.Root == "" && hasGetent() != "" }

// notFound is the code with which getent says that a key is in no database.
const notFound = 2

func getent(database string, keys ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askFor)
	defer cancel()
	cmd := exec.CommandContext(ctx, hasGetent(), append([]string{database}, keys...)...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == notFound {
		return string(out), osuser.ErrNone // of some of the keys, perhaps
	}
	if err != nil {
		return "", fmt.Errorf("getent %s %s: %w", database, strings.Join(keys, " "), err)
	}
	return string(out), nil
}
