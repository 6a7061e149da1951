//go:build linux

package supervisor

import (
	"encoding/binary"
	"errors"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fork makes a child whose end comes over the channel instead of being taken
// for a task's or an orphan's.
func (k *supervisor) fork(path string, argv []string, attr *syscall.ProcAttr) (int, <-chan unix.WaitStatus, error) {
	return k.forkAs(func() (int, error) { return syscall.ForkExec(path, argv, attr) })
}

// forkAs is fork with another way to do it.
func (k *supervisor) forkAs(do func() (int, error)) (int, <-chan unix.WaitStatus, error) {
	k.forking.RLock()
	defer k.forking.RUnlock()
	pid, err := do()
	if err != nil {
		return 0, nil, err
	}
	ch := make(chan unix.WaitStatus, 1)
	k.mu.Lock()
	k.helpers[pid] = ch
	k.mu.Unlock()
	return pid, ch, nil
}

// claim announces that somebody will ask for a child that is not known yet and
// may end before it is.
func (k *supervisor) claim() {
	k.mu.Lock()
	k.claims++
	k.mu.Unlock()
}

// claimed ends a claim; the channel brings the end of pid, which may be over.
func (k *supervisor) claimed(pid int) <-chan unix.WaitStatus {
	ch := make(chan unix.WaitStatus, 1)
	k.mu.Lock()
	defer k.mu.Unlock()
	if status, ok := k.strays[pid]; ok {
		ch <- status
	} else if pid > 0 {
		k.helpers[pid] = ch
	}
	if k.claims--; k.claims == 0 {
		clear(k.strays)
	}
	return ch
}

// child says whether pid is a child that we know, and whose main process it is;
// who waits for another one is told of its end.
func (k *supervisor) child(pid int, status unix.WaitStatus) (t *task, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ch := k.helpers[pid]; ch != nil {
		ch <- status
		delete(k.helpers, pid)
		return nil, true
	}
	t = k.pids[pid]
	return t, t != nil
}

// stray remembers the end of a child of nobody as long as there is one who may
// ask for it.
func (k *supervisor) stray(pid int, status unix.WaitStatus) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.claims > 0 {
		k.strays[pid] = status
	}
}

// peekZombie returns a child that has ended, and its wait status, and leaves it.
func peekZombie() (pid int, status unix.WaitStatus, ok bool) {
	var info [128]byte // siginfo_t; x/sys hides the part for children
	for {
		err := unix.Waitid(unix.P_ALL, 0, (*unix.Siginfo)(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return 0, 0, false
		}
	}
	at := 12 // si_signo, si_errno, si_code
	if unsafe.Sizeof(uintptr(0)) == 8 {
		at = 16
	}
	word := func(i int) int { return int(int32(binary.NativeEndian.Uint32(info[i:]))) }
	code, pid, value := word(8), word(at), word(at+8)
	if pid == 0 {
		return 0, 0, false
	}
	if code == 1 { // CLD_EXITED
		return pid, unix.WaitStatus(value << 8), true
	}
	return pid, unix.WaitStatus(value & 0x7f), true
}
