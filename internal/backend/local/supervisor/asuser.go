//go:build linux

package supervisor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend/local/container"
	"github.com/musterhq/muster/internal/core/osuser"
)

// What a task of an account begins with is here: its ids, its mask, that it gains no
// rights, its limits; and how files are looked at with no more rights than it has.
// As whom a task runs was decided before (osuser.Decide); this only does it.

// umaskOf is the mask for files that tasks of accounts begin with, as pam_umask(8) has
// it by default.
const umaskOf = 0o022

// credential is what a task's processes are; nil: what this process is.
func (t *task) credential() *syscall.Credential {
	if t.as == nil {
		return credential(t.a.UID, t.a.GID)
	}
	return &syscall.Credential{Uid: t.as.UID, Gid: t.as.GID, Groups: t.as.Groups}
}

// unprivileged reports whether a task may have no right beyond those of its account.
func unprivileged(as *osuser.Account) bool { return as != nil && as.UID != 0 }

// userInside is who a task's container runs as, for commands beside it.
func (t *task) userInside() (container.User, error) {
	if t.as != nil { // whatever has become of its process
		return container.User{UID: t.as.UID, GID: t.as.GID, Groups: t.as.Groups}, nil
	}
	return userOf(t.pid)
}

// ownedBy reports whether a process can be a task's: its environment says so, but that
// anybody may write.
func ownedBy(as *osuser.Account, pid int) bool {
	if as == nil {
		return true
	}
	u, err := userOf(pid)
	return err == nil && u.UID == as.UID
}

// beginAs makes the calling thread what a task of an account begins with, beside the
// ids, which the fork sets: the thread must not be used for anything else after that.
func beginAs(as *osuser.Account) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // the mask is the thread's own from here on
		return fmt.Errorf("begin a task of %s: %w", as.Name, err)
	}
	unix.Umask(umaskOf)
	if as.SetUID || as.UID == 0 {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("begin a task of %s: no_new_privs: %w", as.Name, err)
	}
	return nil
}

// withRights runs fn with an account's rights to files, on a thread that ends then.
// Without an account it just runs it.
func withRights(as *osuser.Account, fn func() error) error {
	if as == nil {
		return fn()
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // not unlocked: the thread ends with the goroutine
		done <- borrowRights(as, fn)
	}()
	return <-done
}

// borrowRights runs fn on the calling thread, which must be locked, with an account's
// rights to files: what the kernel checks of files it checks by these ids, and of the
// capabilities none about files is in force (setfsuid(2), capabilities(7)). What else
// root may do, the thread still may.
func borrowRights(as *osuser.Account, fn func() error) (err error) {
	if os.Getuid() != 0 {
		return fn() // which is the account, or the start will fail
	}
	was, err := unix.Getgroups()
	if err != nil {
		return err
	}
	before := make([]uint32, len(was))
	for i, g := range was {
		before[i] = uint32(g)
	}
	if err := threadGroups(as.Groups); err != nil {
		return fmt.Errorf("look at files as %s: %w", as.Name, err)
	}
	defer func() { err = errors.Join(err, threadGroups(before)) }()
	set := func(uid, gid uint32) error {
		_, _ = unix.SetfsgidRetGid(int(gid))
		_, _ = unix.SetfsuidRetUid(int(uid))
		// They say only what was before: asking for what cannot be changes nothing.
		g, _ := unix.SetfsgidRetGid(-1)
		u, _ := unix.SetfsuidRetUid(-1)
		if uint32(g) != gid || uint32(u) != uid {
			return fmt.Errorf("look at files as %s: the kernel has refused it", as.Name)
		}
		return nil
	}
	defer func() { err = errors.Join(err, set(0, 0)) }()
	if err := set(as.UID, as.GID); err != nil {
		return err
	}
	return fn()
}

// threadGroups sets the further groups of the calling thread alone.
func threadGroups(groups []uint32) error {
	var first *uint32
	if len(groups) > 0 {
		first = &groups[0]
	}
	_, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(first)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// limited has a command begin with the limits of an account: prlimit(1) sets them, as
// the account itself, and becomes the command.
func limited(as *osuser.Account, path string, argv []string) (string, []string, error) {
	if as == nil || len(as.Limits) == 0 {
		return path, argv, nil
	}
	tool, err := exec.LookPath("prlimit")
	if err != nil {
		return "", nil, &cannotRun{text: fmt.Sprintf("/etc/security/limits.conf has limits for %s, and prlimit, which sets them, is not installed; install util-linux", as.Name)}
	}
	args := []string{"prlimit"}
	for _, l := range as.Limits {
		if text := limitText(l); text != "" {
			args = append(args, "--"+l.Name+"="+text)
		}
	}
	return tool, append(append(args, "--", path), argv[1:]...), nil
}

// limitOf is both halves of a limit, where one that is above what this process may give
// is as high as that; false: the kernel has no such limit.
func limitOf(l osuser.Limit) (soft, hard uint64, ok bool) {
	which, ok := rlimits[l.Name]
	var now unix.Rlimit
	if !ok || unix.Prlimit(0, which, nil, &now) != nil {
		return 0, 0, false
	}
	hard = now.Max
	if l.Hard != nil {
		hard = min(*l.Hard, now.Max)
	}
	soft = min(now.Cur, hard)
	if l.Soft != nil {
		soft = min(*l.Soft, hard)
	}
	return soft, hard, true
}

// limitText is a limit as prlimit reads it, SOFT:HARD; empty: there is none.
func limitText(l osuser.Limit) string {
	soft, hard, ok := limitOf(l)
	if !ok {
		return ""
	}
	word := func(n uint64) string {
		if n == osuser.Unlimited {
			return "unlimited"
		}
		return strconv.FormatUint(n, 10)
	}
	return word(soft) + ":" + word(hard)
}

// rlimits are the numbers of limits (getrlimit(2)).
var rlimits = map[string]int{
	"core": unix.RLIMIT_CORE, "data": unix.RLIMIT_DATA, "fsize": unix.RLIMIT_FSIZE, "memlock": unix.RLIMIT_MEMLOCK, "nofile": unix.RLIMIT_NOFILE, "rss": unix.RLIMIT_RSS,
	"stack": unix.RLIMIT_STACK, "cpu": unix.RLIMIT_CPU, "nproc": unix.RLIMIT_NPROC, "as": unix.RLIMIT_AS, "locks": unix.RLIMIT_LOCKS, "sigpending": unix.RLIMIT_SIGPENDING, "msgqueue": unix.RLIMIT_MSGQUEUE,
}

// limitInside has a container begin with the limits of an account, and be no dearer to
// the kernel than others where memory is short.
func limitInside(as *osuser.Account, in *container.Input) {
	for _, l := range as.Limits {
		if soft, hard, ok := limitOf(l); ok {
			in.Limits = append(in.Limits, specs.POSIXRlimit{Type: "RLIMIT_" + strings.ToUpper(l.Name), Soft: soft, Hard: hard})
		}
	}
	if dear() {
		in.OOMScore = new(int)
	}
}

// dear reports whether this process is one that the kernel is told to keep where memory
// is short, as a service may be: what it starts would be, too.
func dear() bool {
	data, _ := os.ReadFile("/proc/self/oom_score_adj")
	return strings.HasPrefix(string(data), "-")
}

// level takes that from a task of an account, which has just begun.
func level(as *osuser.Account, pid int) {
	if as != nil && dear() {
		usual(pid)
	}
}

// usual has a process be ended as soon as others.
func usual(pid int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("0"), 0)
}

// groupsIn are the further groups of a task in its container.
func groupsIn(as *osuser.Account, u container.User) container.User {
	if as != nil {
		u.Groups = slices.Clone(as.Groups)
	}
	return u
}
