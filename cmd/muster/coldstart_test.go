package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/musterhq/muster/client"
)

// BenchmarkColdStart is how long a command of a list takes, from the start of
// its process to its end, with 1,000 workloads at the server. Beside the time
// there is the processor's own, which other work on the machine does not change.
func BenchmarkColdStart(b *testing.B) {
	dir := b.TempDir()
	bin := filepath.Join(dir, "muster")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"mcli", "squeue", "runai"} {
		if err := os.Symlink(bin, filepath.Join(dir, name)); err != nil {
			b.Fatal(err)
		}
	}
	data := filepath.Join(dir, "d")
	env := append(os.Environ(), "MUSTER_DATA_DIR="+data, "MUSTER_SERVER=", "MUSTER_NO_AUTOSTART=1", "HOME="+dir)
	server := exec.Command(bin, "server", "--fake-gpus", "8", "--log-level", "error")
	server.Env, server.Stderr = env, os.Stderr
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		stop := exec.Command(bin, "stop", "run-0", "--yes", "--grace-period", "1s", "--wait") // the one that runs
		stop.Env = env
		if out, err := stop.CombinedOutput(); err != nil {
			b.Errorf("%v\n%s", err, out)
		}
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	fill(b, "unix://"+filepath.Join(data, "muster.sock"), 1000)
	for _, line := range [][]string{{"muster", "get"}, {"mcli", "get", "runs"}, {"squeue"}, {"runai", "list", "jobs"}, {"muster", "version"}} {
		b.Run(fmt.Sprint(line), func(b *testing.B) {
			var used time.Duration
			for b.Loop() {
				cmd := exec.Command(filepath.Join(dir, line[0]), line[1:]...)
				cmd.Env = env
				if out, err := cmd.Output(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			}
			b.ReportMetric(float64(used.Microseconds())/float64(b.N)/1000, "cpu-ms/op")
		})
	}
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
