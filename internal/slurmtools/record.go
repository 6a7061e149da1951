package slurmtools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// answerWithin is how long a step waits for the server to keep its record.
const answerWithin = 5 * time.Second

// record tells the server of a step, whose sacct and sstat ask. A step runs as well
// without a record: where one cannot be kept nobody is told, as the script's output
// is no place for it.
type record struct {
	client *http.Client // nil: the server is not reached
	url    string
	token  string
	task   int
}

// newRecord finds the server by what every task has.
func newRecord() *record {
	url, file := os.Getenv("MUSTER_TASK_URL"), os.Getenv("MUSTER_TASK_TOKEN_FILE")
	token, err := os.ReadFile(file)
	task, aerr := strconv.Atoi(cmp.Or(os.Getenv("MUSTER_TASK_INDEX"), "0"))
	if url == "" || err != nil || aerr != nil {
		return &record{}
	}
	r := &record{client: &http.Client{Timeout: answerWithin}, url: strings.TrimSuffix(url, "/"), token: strings.TrimSpace(string(token)), task: task}
	if path, is := strings.CutPrefix(url, "unix://"); is {
		r.url = "http://muster"
		r.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}
	}
	return r
}

// began says that a step starts.
func (r *record) began(s *step) {
	name := cmp.Or(s.o.name, filepath.Base(s.o.argv[0]))
	body := map[string]any{"id": s.id, "task": r.task, "name": name[:min(len(name), 200)], "tasks": len(s.ranks), "cpus": s.cpus()}
	if all, _ := strconv.Atoi(os.Getenv("SLURM_NNODES")); len(s.hosts) < all {
		var on []int
		for node := range s.hosts {
			for _, x := range s.ranks {
				if x.node == node {
					on = append(on, x.at)
					break
				}
			}
		}
		body["on"] = on
	}
	if err := r.announce(http.MethodPost, body); err != nil {
		r.client = nil // who does not hear of its start need not hear of its end
	}
}

// ended says how a step has ended.
func (r *record) ended(s *step, code int) {
	_ = r.announce(http.MethodPatch, map[string]any{"id": s.id, "task": r.task, "exitCode": min(max(code, 0), 255)})
}

func (r *record) announce(method string, body map[string]any) error {
	if r.client == nil {
		return nil
	}
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(method, r.url+"/v1/self/steps", bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+r.token)
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("the server answers %s", resp.Status)
	}
	return nil
}

// cpus are those of a step: of its processes where it says how many each has, else
// all of its nodes' that the job has.
func (s *step) cpus() int {
	if s.o.cpus > 0 {
		return s.o.cpus * len(s.ranks)
	}
	each, _ := strconv.Atoi(os.Getenv("SLURM_CPUS_ON_NODE"))
	return max(each, 1) * len(s.hosts)
}

// ending is what srun says of a process that has ended so: by what signal, as the
// system says it, or with which code.
func ending(code int) string {
	if n := code - 128; n > 0 && n < 65 {
		if word := syscall.Signal(n).String(); !strings.HasPrefix(word, "signal ") {
			return strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return fmt.Sprintf("Exited with exit code %d", code)
}
