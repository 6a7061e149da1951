package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/packed"
)

// build makes the program as it is released, beside whatever tests otherwise use.
func build(t testing.TB) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "muster")
	if out, err := exec.Command("../../scripts/build", bin).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// mostBytes is how large the released file may be.
const mostBytes = 45_000_000

// notForCommands are parts of the server that must not be started for a command.
var notForCommands = regexp.MustCompile(`^(k8s\.io|sigs\.k8s\.io|github\.com/prometheus|github\.com/google/gnostic|github\.com/danielgtaylor|modernc\.org|google\.golang\.org/protobuf|github\.com/google/go-containerregistry)/`)

// initialised is a line that the runtime writes for each package.
var initialised = regexp.MustCompile(`(?m)^init (\S+) @\S+ ms, (\S+) ms clock, (\d+) bytes`)

// TestACommandStartsNothingOfTheServer reads what the runtime says of all that was
// done before main.
func TestACommandStartsNothingOfTheServer(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "front")
	make := exec.Command("go", "build", "-trimpath", "-o", bin, "./front")
	make.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// How long that takes is the machine's matter, and the benchmark's: what is counted
	// here is the same everywhere.
	const memory = 256 << 10 // bytes
	cmd := exec.Command(bin, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1", "MUSTER_SERVER=", "MUSTER_NO_AUTOSTART=1", "MUSTER_DATA_DIR="+t.TempDir())
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	took, bytes, lines := 0.0, 0, initialised.FindAllStringSubmatch(said.String(), -1)
	for _, line := range lines {
		if name := line[1]; notForCommands.MatchString(name + "/") {
			t.Errorf("%s is initialised for a command", name)
		}
		ms, err := strconv.ParseFloat(line[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(line[3])
		if err != nil {
			t.Fatal(err)
		}
		took, bytes = took+ms, bytes+n
	}
	t.Logf("%d packages, %d bytes, %.2f ms", len(lines), bytes, took)
	if len(lines) < 20 {
		t.Fatalf("only %d packages: has the runtime changed what it writes?\n%s", len(lines), said.String())
	}
	if bytes > memory {
		t.Errorf("%d bytes are allocated before main, more than %d:\n%s", bytes, memory, said.String())
	}
}

// TestTheReleasedProgramServes starts a server out of the packed program.
func TestTheReleasedProgramServes(t *testing.T) {
	bin, dir := build(t), t.TempDir()
	if file, err := os.Stat(bin); err != nil || file.Size() > mostBytes {
		t.Errorf("the released file has %d bytes (%v), and may have %d: go run ./scripts/sizes says what it is made of", file.Size(), err, mostBytes)
	}
	data := filepath.Join(dir, "d")
	muster := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(bin, args...)
		cmd.Env = append(os.Environ(), "MUSTER_DATA_DIR="+data, "MUSTER_SERVER=", "MUSTER_NO_AUTOSTART=", "HOME="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("muster %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	stop := func() string { return muster("server", "stop") }
	t.Cleanup(func() {
		cmd := exec.Command(bin, "--data-dir", data, "server", "stop")
		_ = cmd.Run() // where the test has failed before
	})
	if out := muster("run", "--follow", "--", "echo", "from the", "packed one"); !strings.Contains(out, "from the packed one") {
		t.Errorf("it says %s", out)
	}
	unpacked := func() string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(data, "program", "*", "muster"))
		if err != nil || len(found) != 1 {
			t.Fatalf("unpacked are %q (%v)", found, err)
		}
		return found[0]
	}
	place := unpacked()
	before, err := os.Stat(place)
	if err != nil {
		t.Fatal(err)
	}
	stop()

	// What another version has left goes, what is there stays.
	other := filepath.Join(data, "program", "0123456789abcdef")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if out := muster("run", "--follow", "--", "env"); strings.Contains(out, packed.From) {
		t.Errorf("a task is told of it: %s", out)
	}
	after, err := os.Stat(unpacked())
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) {
		t.Error("the second start has unpacked it again")
	}
	if _, err := os.Stat(other); !os.IsNotExist(err) {
		t.Errorf("what another version has left: %v", err)
	}

	// Batch scripts run the small half.
	script := filepath.Join(dir, "job.sh")
	if err := os.WriteFile(script, []byte("#!/bin/bash\n#SBATCH --job-name=batch\nsrun echo in a step\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := muster("run", "-f", script, "--follow"); !strings.Contains(out, "in a step") {
		t.Errorf("the batch script says %s", out)
	}
	theirs, err := os.Stat(filepath.Join(data, "muster"))
	if err != nil {
		t.Fatal(err)
	}
	if theirs.Size() > before.Size()/2 {
		t.Errorf("tasks get a program of %d bytes, where the whole has %d", theirs.Size(), before.Size())
	}
	stop()
	if out := muster("server", "salvage"); !strings.Contains(out, "every record can be read") {
		t.Errorf("salvage says %s", out)
	}
}

// TestTheFrontAloneSaysWhatItLacks is for whoever builds only a half.
func TestTheFrontAloneSaysWhatItLacks(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "front")
	if out, err := exec.Command("go", "build", "-o", bin, "./front").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, args := range [][]string{{"server"}, {"server", "salvage"}} {
		cmd := exec.Command(bin, args...)
		cmd.Env = append(os.Environ(), "MUSTER_DATA_DIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "without the server") || !strings.Contains(string(out), "make build") {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
}
