//go:build linux

package proc

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReadStatOfStrangeNames(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a) Z 1 (b")
	data, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Skipf("this takes a program that can be copied: %v", err)
	}
	if err := os.WriteFile(name, data, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd, err := os.StartProcess(name, []string{"sleep", "1000"}, &os.ProcAttr{})
	if err != nil {
		t.Skipf("this takes a temporary folder from which programs may be run: %v", err)
	}
	defer func() { _ = cmd.Kill(); _, _ = cmd.Wait() }()
	s, err := ReadStat(cmd.Pid)
	if err != nil || s.Parent != os.Getpid() || s.State == 'Z' || s.Start == 0 {
		t.Errorf("%+v, %v; want our child, alive", s, err)
	}
	if !Alive(cmd.Pid, s.Start) || Alive(cmd.Pid, s.Start+1) {
		t.Error("alive does not tell a process from a later one with its pid")
	}
}
