package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/client"
)

// held is how many workloads a server has whose commands are measured.
const held = 50

// BenchmarkColdStart is how long a command of the released program takes, from the
// start of its process to its end, with 50 workloads at the server. Beside the time
// there is the processor's own, and how much that is of what a Go program takes that
// prints one word, which is started in turn with it: other work on the machine
// changes both alike. Both are medians.
func BenchmarkColdStart(b *testing.B) {
	bin := build(b)
	dir := filepath.Dir(bin)
	for _, name := range []string{"mcli", "squeue", "sbatch", "runai"} {
		if err := os.Symlink(bin, filepath.Join(dir, name)); err != nil {
			b.Fatal(err)
		}
	}
	word := oneWord(b, dir)
	data := filepath.Join(dir, "d")
	env := append(os.Environ(), "MUSTER_DATA_DIR="+data, "MUSTER_SERVER=", "MUSTER_NO_AUTOSTART=1", "HOME="+dir)
	server := exec.Command(bin, "server", "--fake-gpus", "8", "--log-level", "error")
	server.Env, server.Stderr = env, os.Stderr
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		args := []string{"stop", "--yes", "--grace-period", "1s", "--wait"}
		for i := range held { // all of them: the next would begin where the first makes room
			args = append(args, fmt.Sprintf("run-%d", held-1-i))
		}
		stop := exec.Command(bin, args...)
		stop.Env = env
		if out, err := stop.CombinedOutput(); err != nil {
			b.Errorf("%v\n%s", err, out)
		}
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	fill(b, "unix://"+filepath.Join(data, "muster.sock"), held)
	for _, line := range [][]string{
		{"muster", "version"}, {"muster", "get"}, {"squeue"}, {"mcli", "get", "runs"}, {"runai", "list", "jobs"},
		{"sbatch", "--wrap", "true"}, {"muster", "run", "--", "true"}, {"muster", "__complete", "logs", ""},
	} {
		b.Run(strings.Join(line, " "), func(b *testing.B) {
			var used, least []time.Duration
			for b.Loop() {
				cmd := exec.Command(filepath.Join(dir, line[0]), line[1:]...)
				cmd.Env, cmd.Dir = env, dir // where sbatch has its output
				if out, err := cmd.Output(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				used = append(used, ofProcessor(cmd))
				b.StopTimer()
				one := exec.Command(word)
				if err := one.Run(); err != nil {
					b.Fatal(err)
				}
				least = append(least, ofProcessor(one))
				b.StartTimer()
			}
			slices.Sort(used)
			slices.Sort(least)
			took, one := used[len(used)/2], least[len(least)/2]
			b.ReportMetric(float64(took.Microseconds())/1000, "cpu-ms/op")
			b.ReportMetric(float64(took)/float64(one), "x-one-word")
		})
	}
}

func ofProcessor(cmd *exec.Cmd) time.Duration {
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// oneWord builds the least that a program does.
func oneWord(b *testing.B, dir string) string {
	b.Helper()
	source, bin := filepath.Join(dir, "word.go"), filepath.Join(dir, "word")
	if err := os.WriteFile(source, []byte("package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"muster\") }\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// fill submits workloads of which the first runs and the others wait for it.
func fill(b *testing.B, address string, n int) {
	b.Helper()
	c, err := client.New(client.Options{Address: address})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for c.Ready(ctx) != nil {
		if ctx.Err() != nil {
			b.Fatal(ctx.Err())
		}
		time.Sleep(20 * time.Millisecond)
	}
	docs := make([]json.RawMessage, n)
	for i := range docs {
		gpus := 8
		if i == 0 {
			gpus = 1
		}
		docs[i] = fmt.Appendf(nil, `{"name": "run-%d", "command": "sleep 3600", "resources": {"gpu": %d}}`, i, gpus)
	}
	done, err := c.Bulk(ctx, docs)
	if err != nil {
		b.Fatal(err)
	}
	for _, item := range done.Items {
		if item.Problem != nil {
			b.Fatal(item.Problem)
		}
	}
}
