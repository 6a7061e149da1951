package mpi

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be either end, as the real one is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "agent":
			os.Exit(AgentMain())
		case "rsh":
			os.Exit(ShellMain(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

const secret = "0123456789abcdef0123456789abcdef"

// agent starts an agent in this process and returns where it is.
func agent(t *testing.T, tok string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- accept(ctx, l, []byte(tok)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("agent: %v", err)
		}
	})
	return l.Addr().String()
}

// have gives the shell a token and workers.
func have(t *testing.T, tok string, workers ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(tok), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(TokenFileVar, file)
	t.Setenv(WorkersVar, strings.Join(workers, " "))
}

func TestCommandIsCarried(t *testing.T) {
	have(t, secret, "w-0="+agent(t, secret))
	var out, errs bytes.Buffer
	code, err := shell(t.Context(), []string{"w-0", "cat;", "echo", "bad", ">&2;", "exit", "7"}, strings.NewReader("some\ninput"), &out, &errs)
	if err != nil || code != 7 || out.String() != "some\ninput" || errs.String() != "bad\n" {
		t.Errorf("code %d, %v, stdout %q, stderr %q; want 7, what came in, bad", code, err, out.String(), errs.String())
	}
	if code, err := shell(t.Context(), []string{"-x", "user@w-0", "kill -9 $$"}, strings.NewReader(""), io.Discard, io.Discard); err != nil || code != 137 {
		t.Errorf("killed: %d, %v; want 137", code, err)
	}
	big := strings.Repeat("x", 3*frameMax+5)
	out.Reset()
	if _, err := shell(t.Context(), []string{"w-0", "cat"}, strings.NewReader(big), &out, io.Discard); err != nil || out.String() != big {
		t.Errorf("%d bytes came back of %d, %v", out.Len(), len(big), err)
	}
}

func TestStrangersAreRefused(t *testing.T) {
	at := agent(t, secret)
	have(t, "another token, as long as it is", "w-0="+at)
	mark := filepath.Join(t.TempDir(), "mark")
	if _, err := shell(t.Context(), []string{"w-0", "touch", mark}, strings.NewReader(""), io.Discard, io.Discard); err == nil {
		t.Error("a wrong token was taken")
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the command of a stranger ran")
	}
	if _, err := shell(t.Context(), []string{"elsewhere", "true"}, strings.NewReader(""), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("an unknown worker: %v", err)
	}
}

func TestCommandEndsWithItsConnection(t *testing.T) {
	have(t, secret, "w-0="+agent(t, secret))
	ctx, cancel := context.WithCancel(t.Context())
	pidFile := filepath.Join(t.TempDir(), "pid")
	done := make(chan error, 1)
	go func() {
		_, err := shell(ctx, []string{"w-0", "echo $$ > " + pidFile + ".new; mv " + pidFile + ".new " + pidFile + "; exec sleep 100000"}, blocked{}, io.Discard, io.Discard)
		done <- err
	}()
	until(t, "it runs", func() bool { _, err := os.Stat(pidFile); return err == nil })
	data, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("the shell knows an exit code of what was cut off")
	}
	until(t, "the command is gone", func() bool {
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(data)) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

// TestWhatGoesIntoTheBackgroundStays: a daemon is still in the group of the
// command that started it when that has ended.
func TestWhatGoesIntoTheBackgroundStays(t *testing.T) {
	have(t, secret, "w-0="+agent(t, secret))
	mark := filepath.Join(t.TempDir(), "mark")
	command := "( sleep 0.3; touch " + mark + " ) >/dev/null 2>&1 </dev/null &"
	if code, err := shell(t.Context(), []string{"w-0", command}, strings.NewReader(""), io.Discard, io.Discard); err != nil || code != 0 {
		t.Fatalf("%d, %v", code, err)
	}
	until(t, "the daemon has done its work", func() bool { _, err := os.Stat(mark); return err == nil })
}

// blocked is a standard input that never says anything.
type blocked struct{}

func (blocked) Read([]byte) (int, error) { select {} }

func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for begun := time.Now(); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatalf("still not: %s", what)
		}
	}
}

// TestOpenMPI runs a real mpirun over two agents.
func TestOpenMPI(t *testing.T) {
	mpirun, err := exec.LookPath("mpirun")
	if err != nil {
		t.Skip("this takes mpirun: apt-get install openmpi-bin")
	}
	var where, hosts []string
	for i := range 2 {
		name := fmt.Sprintf("train-worker-%d", i)
		where = append(where, name+"="+agent(t, secret))
		hosts = append(hosts, name+" slots=2")
	}
	have(t, secret, where...)
	hostfile := filepath.Join(t.TempDir(), "hostfile")
	if err := os.WriteFile(hostfile, []byte(strings.Join(hosts, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, mpirun, "-np", "4", "sh", "-c", "echo rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE local $OMPI_COMM_WORLD_LOCAL_RANK")
	cmd.Env = append(os.Environ(), "OMPI_MCA_orte_default_hostfile="+hostfile, "OMPI_MCA_plm_rsh_agent="+os.Args[0]+" rsh",
		"OMPI_MCA_orte_keep_fqdn_hostnames=t", "OMPI_MCA_plm_rsh_no_tree_spawn=1", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("mpirun: %v\n%s", err, out)
	}
	for rank := range 4 {
		if want := fmt.Sprintf("rank %d of 4 local %d", rank, rank%2); !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

// A launcher waits for the last of its workers, and ends when it is told to.
func TestWaitingForWorkers(t *testing.T) {
	late, err := net.Listen("tcp", "127.0.0.1:0") // somebody has the port, who is no agent
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"a": agent(t, secret), "b": late.Addr().String()}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- wait(ctx, all, io.Discard) }()
	conn, err := late.Accept() // it asks, and is not answered
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		t.Fatalf("it went on without worker b: %v", err)
	default:
	}
	if err := late.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", all["b"])
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- accept(ctx, l, []byte(secret)) }()
	_ = conn.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	cancel()
	<-ended
	if err := wait(ctx, map[string]string{"c": all["b"]}, io.Discard); err == nil || !strings.Contains(err.Error(), "worker c") {
		t.Errorf("told to end, it says %v", err)
	}
	if err := wait(context.Background(), nil, io.Discard); err == nil {
		t.Error("it waited for nobody")
	}
}
