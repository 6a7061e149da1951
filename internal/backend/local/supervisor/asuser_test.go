//go:build linux

package supervisor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core/osuser"
)

// TestAProcessIsItsAccounts: an environment that names a task's directory is not enough.
func TestAProcessIsItsAccounts(t *testing.T) {
	me, other := uint32(os.Getuid()), uint32(os.Getuid()+1)
	for _, c := range []struct {
		as   *osuser.Account
		want bool
	}{{nil, true}, {&osuser.Account{UID: me}, true}, {&osuser.Account{UID: other}, false}} {
		if got := ownedBy(c.as, os.Getpid()); got != c.want {
			t.Errorf("a process of user %d is taken for one of %+v: %v", me, c.as, got)
		}
	}
	if ownedBy(&osuser.Account{UID: me}, 1<<22+1) {
		t.Error("a process that there is not is taken for a task's")
	}
}

// TestRightsAreGivenBack: whatever is done with an account's rights, the thread has its
// own again, and no other thread ever had others.
func TestRightsAreGivenBack(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this takes root: only root has rights to give up")
	}
	closed := filepath.Join(t.TempDir(), "closed")
	if err := os.WriteFile(closed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	as := &osuser.Account{Name: "ann", UID: 61001, GID: 61001, Groups: []uint32{61002}}
	failed := errors.New("it failed")
	for range 50 {
		err := withRights(as, func() error {
			if _, err := os.ReadFile(closed); !errors.Is(err, os.ErrPermission) {
				t.Errorf("with an account's rights: %v", err)
			}
			return failed
		})
		if !errors.Is(err, failed) {
			t.Errorf("got %v", err)
		}
		if _, err := os.ReadFile(closed); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
	threads, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(threads) == 0 {
		t.Fatalf("no threads: %v", err)
	}
	for _, path := range threads {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		if text := string(data); !strings.Contains(text, "Uid:\t0\t0\t0\t0\n") || strings.Contains(text, "61002") {
			t.Errorf("a thread is left with an account's rights:\n%s", text)
		}
	}
}

func TestLimitsAreWritten(t *testing.T) {
	n := func(v uint64) *uint64 { return &v }
	path, argv, err := limited(&osuser.Account{Name: "ann", Limits: []osuser.Limit{{Name: "core", Soft: n(0), Hard: n(0)}, {Name: "nofile", Soft: n(osuser.Unlimited), Hard: n(7)}, {Name: "unheard-of", Soft: n(1)}}}, "/bin/true", []string{"true", "-x"})
	if err != nil {
		t.Skipf("this takes prlimit: apt-get install util-linux (%v)", err)
	}
	if got := strings.Join(argv, " "); filepath.Base(path) != "prlimit" || got != "prlimit --core=0:0 --nofile=7:7 -- /bin/true -x" {
		t.Errorf("%s %s", path, got)
	}
	if path, argv, err := limited(&osuser.Account{}, "/bin/true", []string{"true"}); path != "/bin/true" || len(argv) != 1 || err != nil {
		t.Errorf("without limits: %s %v %v", path, argv, err)
	}
}

// TestTasksAreNotDear: what is written to the kernel's file of a process is taken there.
func TestTasksAreNotDear(t *testing.T) {
	if dear() {
		t.Skip("this takes a process whose oom_score_adj is not negative: run the tests outside of a service with OOMScoreAdjust")
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	score := fmt.Sprintf("/proc/%d/oom_score_adj", cmd.Process.Pid)
	if err := os.WriteFile(score, []byte("7"), 0); err != nil {
		t.Fatal(err)
	}
	level(&osuser.Account{}, cmd.Process.Pid) // nothing to take: it is not dear
	if data, err := os.ReadFile(score); err != nil || string(data) != "7\n" {
		t.Errorf("a task of a server like others is worth %q, %v", data, err)
	}
	usual(cmd.Process.Pid)
	if data, err := os.ReadFile(score); err != nil || string(data) != "0\n" {
		t.Errorf("a task of one that is dear is worth %q, %v", data, err)
	}
}
