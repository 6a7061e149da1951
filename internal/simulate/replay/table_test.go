package replay_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/musterhq/muster/internal/simulate/replay"
	"github.com/musterhq/muster/internal/simulate/trace"
)

var phillyQuota = map[string]int{"ee9e8c": 134, "7f04ca": 86, "b436b2": 66, "6214e9": 51, "6c71a0": 43, "2869ce": 42, "0e4a51": 41, "103959": 22, "11cb48": 15, "e13805": 7, "ed69ec": 5}

var phillyCluster = replay.Cluster{Nodes: 64, GPUsPerNode: 8}

var openPhilly = sync.OnceValues(func() ([]trace.Job, error) {
	return trace.Open(filepath.Join("..", "trace", "testdata", "philly.csv.gz"))
})

// philly is read once; nobody may change it.
func philly(t testing.TB) []trace.Job {
	t.Helper()
	jobs, err := openPhilly()
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

func run(t *testing.T, jobs []trace.Job, c replay.Cluster, policy string, o replay.Options) replay.Result {
	t.Helper()
	p, err := replay.New(policy, o)
	if err != nil {
		t.Fatal(err)
	}
	var r replay.Recorder
	if err := replay.Run(jobs, c, p, &r); err != nil {
		t.Fatal(err)
	}
	result, err := r.Result(replay.Measure{Name: policy, Cluster: c, Weights: o.Quota})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// names are the policies of the table in this program's words.
var names = map[string]string{
	"FIFO strict": "fifo", "FIFO skipping": "skip", "EASY perfect": "easy-perfect", "EASY user": "easy-user", "EASY learnt": "easy-learnt",
	"conservative": "conservative", "SJF": "sjf", "SRTF": "srtf", "LAS": "las", "quota restart": "quota-restart", "quota checkpoint": "quota-checkpoint",
}

// TestEveryPolicyRunsAsPublished compares each figure of each reference run; the
// check value covers the first start and the end of every one of 82,247 jobs.
// Of the runs under more load it makes one, or all with MUSTER_REPLAY_ALL=1.
func TestEveryPolicyRunsAsPublished(t *testing.T) {
	t.Parallel()
	jobs := philly(t)
	more, err := trace.Scale(jobs, 120)
	if err != nil {
		t.Fatal(err)
	}
	columns, rows := table(t)
	if len(rows) != 17 {
		t.Fatalf("%d reference runs, want 17", len(rows))
	}
	for _, want := range rows {
		if strings.HasSuffix(want[0], " ×1.2") && want[0] != "FIFO strict ×1.2" && os.Getenv("MUSTER_REPLAY_ALL") == "" {
			continue // the same rules under more load: a minute of the race detector's time
		}
		if testing.Short() && !strings.HasPrefix(want[0], "FIFO") {
			continue
		}
		t.Run(want[0], func(t *testing.T) {
			name, scaled := strings.CutSuffix(want[0], " ×1.2")
			in := jobs
			if scaled {
				in = more
			}
			if names[name] == "" {
				t.Fatalf("policy %q of the table has no name here", name)
			}
			got := cells(run(t, in, phillyCluster, names[name], replay.Options{Seed: 42, Quota: phillyQuota}))
			for i, c := range columns[1:] {
				if got[i] != want[i+1] {
					t.Errorf("column %d (%s): got %s, want %s", i+1, c, got[i], want[i+1])
				}
			}
		})
	}
}

func TestOtherUsersGuessOtherwise(t *testing.T) {
	t.Parallel()
	jobs := philly(t)
	for seed, want := range map[uint64]string{43: "90953.3", 44: "86839.0"} {
		if seed != 43 && os.Getenv("MUSTER_REPLAY_ALL") == "" {
			continue
		}
		r := run(t, jobs, phillyCluster, "easy-user", replay.Options{Seed: seed})
		if got := fmt.Sprintf("%.1f", r.Wait.MeanSeconds); got != want {
			t.Errorf("seed %d: mean wait %s, want %s", seed, got, want)
		}
	}
}

// table reads the reference runs.
func table(t *testing.T) (columns []string, rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "philly-64x8.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") {
			continue
		}
		fields := strings.Split(strings.Trim(line, "|"), "|")
		for i, f := range fields {
			fields[i] = strings.TrimSpace(f)
		}
		if columns == nil {
			columns = fields
		} else {
			rows = append(rows, fields)
		}
	}
	return columns, rows
}

// cells writes a result as a row of the table, without the first column.
func cells(r replay.Result) []string {
	out := []string{
		fmt.Sprintf("%.1f", r.Wait.MeanSeconds), fmt.Sprint(r.Wait.P50Seconds), fmt.Sprint(r.Wait.P90Seconds), fmt.Sprint(r.Wait.P99Seconds), fmt.Sprint(r.Wait.MaxSeconds),
		fmt.Sprintf("%.1f", r.Completion.MeanSeconds), fmt.Sprint(r.Completion.P50Seconds), fmt.Sprint(r.Completion.P99Seconds),
	}
	for _, g := range r.BySize[:4] {
		out = append(out, fmt.Sprintf("%.0f", g.Wait.MeanSeconds))
	}
	for _, name := range []string{"ee9e8c", "7f04ca", "b436b2", "6214e9", "6c71a0"} {
		for _, p := range r.ByProject {
			if p.Name == name {
				out = append(out, fmt.Sprintf("%.0f", p.Wait.MeanSeconds))
			}
		}
	}
	return append(out, fmt.Sprintf("%.1f", r.UtilisationPercent), fmt.Sprintf("%.1f", r.UtilisationWhileWaitingPercent),
		fmt.Sprint(r.Preemptions), fmt.Sprint(r.WastedGPUSeconds), fmt.Sprint(r.MakespanSeconds), r.Check)
}
