package commands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/cli/terminal"
)

// world is a server that notes what is asked of it and does nothing.
type world struct {
	mu    sync.Mutex
	ws    []api.Workload
	acts  []string
	pages []string // limits of lists
}

func (f *world) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	path := strings.TrimPrefix(r.URL.Path, "/v1/")
	switch {
	case r.Method != http.MethodGet:
		f.acts = append(f.acts, r.Method+" "+path)
		answer(map[string]any{"items": []any{}})
	case strings.HasSuffix(path, "workloads"):
		answer(f.list(r))
	case strings.Contains(path, "/workloads/"):
		name := path[strings.LastIndexByte(path, '/')+1:]
		i := slices.IndexFunc(f.ws, func(w api.Workload) bool { return w.Name == name })
		if i < 0 {
			w.WriteHeader(http.StatusNotFound)
			answer(api.Problem{Status: 404, Code: "not_found", Detail: "there is no " + name})
			return
		}
		answer(f.ws[i])
	case path == "secrets":
		answer(api.SecretList{Items: []api.Secret{{Name: "hf", Type: "hf"}}})
	default:
		answer(map[string]any{"items": []any{}})
	}
}

func (f *world) list(r *http.Request) api.WorkloadList {
	q := r.URL.Query()
	f.pages = append(f.pages, q.Get("limit"))
	var all []api.Workload
	for _, w := range f.ws {
		if (q.Get("user") == "" || q.Get("user") == w.User) && (q.Get("number") == "" || q.Get("number") == strconv.FormatInt(w.Number, 10)) {
			all = append(all, w)
		}
	}
	from, _ := strconv.Atoi(q.Get("cursor"))
	limit, _ := strconv.Atoi(q.Get("limit"))
	to := min(len(all), from+max(limit, 1))
	page := api.WorkloadList{Items: all[from:to]}
	if to < len(all) {
		page.Next = strconv.Itoa(to)
	}
	return page
}

// serve begins a server with a workload of this user and one of another's, at
// a socket or over the network.
func serve(t *testing.T, network bool) *world {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	f := &world{}
	for i, who := range []string{me.Username, "another"} {
		f.ws = append(f.ws, api.Workload{
			ID: fmt.Sprintf("id%d", i), Name: fmt.Sprintf("test-%d", i), Project: "default", User: who, Kind: "training", Phase: "Running",
			Number: int64(12 + i), CreatedAt: api.Time(time.Now()), Spec: json.RawMessage(`{"command": "true"}`),
		})
	}
	s := httptest.NewUnstartedServer(f)
	if !network {
		path := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Listener.Close()
		s.Listener = l
		t.Setenv("MUSTER_SERVER", "unix://"+path)
	}
	s.Start()
	t.Cleanup(s.Close)
	if network {
		t.Setenv("MUSTER_SERVER", s.URL)
	}
	t.Setenv("HOME", t.TempDir())
	return f
}

// call carries out a command line and returns what it has done.
func (f *world) call(t *testing.T, words ...string) (code int, acts []string, said string) {
	t.Helper()
	f.acts, f.pages = nil, nil
	var out bytes.Buffer
	code, ok := Main(words[0], words[1:], terminal.Streams{In: strings.NewReader(""), Out: &out, Err: &out}, cli.Hooks{})
	if !ok {
		t.Fatalf("there is no %s", words[0])
	}
	return code, f.acts, out.String()
}

func TestNothingThatIsNotNamedIsEnded(t *testing.T) {
	f := serve(t, false)
	for words, why := range map[string]string{
		"scancel|":                                "Invalid job id",
		"scancel|0":                               "Invalid job id",
		"scancel|@last":                           "Invalid job id",
		"scancel|12|":                             "Invalid job id",
		"scancel|12_3":                            "is no array",
		"scancel|12_[3-9]":                        "is no array",
		"scancel|12_":                             "is no array",
		"scancel|12.0":                            "is no batch script",
		"scancel|12.":                             "Invalid job id",
		"scancel|12.00":                           "Invalid job id",
		"scancel|12.-1":                           "Invalid job id",
		"scancel|-s|USR1|12":                      "is no batch script",
		"scontrol|requeue|12_3":                   "is no array",
		"scontrol|hold|12_3":                      "is no array",
		"scontrol|requeue|12.0":                   "is a step",
		"scontrol|requeue|":                       "Invalid job id",
		"scontrol|update|JobId=12_3|Priority=80":  "is no array",
		"scontrol|update|JobId=12|TimeLimit=soon": "not a time limit",
		"mcli|stop|run|":                          "a name is empty",
		"mcli|delete|run|--force|":                "a name is empty",
		"mcli|delete|secrets|*":                   "--yes",
		"runai|delete|":                           "a name is empty",
		"runai|delete|-A":                         "--yes",
		"runai|suspend|--all-projects":            "--yes",
	} {
		if code, acts, said := f.call(t, strings.Split(words, "|")...); code == 0 || len(acts) > 0 || !strings.Contains(said, why) {
			t.Errorf("%s: code %d, did %q, said %q", words, code, acts, said)
		}
	}
}

func TestWhatIsEndedIsOnesOwn(t *testing.T) {
	const mine, others = "projects/default/workloads/id0", "projects/default/workloads/id1"
	f := serve(t, false)
	for words, want := range map[string]string{
		"mcli|delete|runs|test-*|--force":                         "DELETE " + mine,
		"mcli|delete|runs|test-*|--force|--all-users":             "DELETE " + mine + ",DELETE " + others,
		"mcli|delete|runs|--all|--force":                          "DELETE " + mine,
		"mcli|delete|runs|test-1":                                 "DELETE " + others,
		"mcli|delete|runs|test-0|test-1|--before|2d":              "",
		"mcli|delete|runs|test-0|test-1|--after|2d|--user|nobody": "",
		"mcli|delete|secrets|hf":                                  "DELETE secrets/hf",
		"runai|delete|-A|-y":                                      "DELETE " + mine,
		"scancel|--me":                                            "POST " + mine + ":stop",
		"scancel|13":                                              "POST " + others + ":stop",
	} {
		if code, acts, said := f.call(t, strings.Split(words, "|")...); code != 0 || strings.Join(acts, ",") != want {
			t.Errorf("%s: code %d, did %q, want %q; said %q", words, code, acts, want, said)
		}
	}
}

// TestNobodyIsTakenForTheUser: over the network the server knows a token, which
// several may have.
func TestNobodyIsTakenForTheUser(t *testing.T) {
	f := serve(t, true)
	for _, words := range []string{"runai|delete|-A|-y", "mcli|delete|runs|--all|--force", "mcli|stop|runs|test-*|--force", "mcli|stop|runs|--status|running|--force", "scancel|--me", "squeue|--me"} {
		if code, acts, said := f.call(t, strings.Split(words, "|")...); code == 0 || len(acts) > 0 || !strings.Contains(said, "by a token, not by name") {
			t.Errorf("%s: code %d, did %q, said %q", words, code, acts, said)
		}
	}
	if code, _, said := f.call(t, "mcli", "get", "runs", "-o", "name"); code != 0 || !strings.Contains(said, "test-0") || !strings.Contains(said, "test-1") {
		t.Errorf("a list shows everybody's: code %d, %q", code, said)
	}
}

func TestPagesThatFiltersLeaveEmptyAreLong(t *testing.T) {
	f := serve(t, false)
	for i := range 10 {
		w := f.ws[1]
		w.ID, w.Name, w.Number = fmt.Sprint("more", i), fmt.Sprint("more-", i), int64(20+i)
		f.ws = append(f.ws, w)
	}
	code, _, said := f.call(t, "runai", "workload", "list", "--limit", "1", "--framework", "none")
	if code != 0 || strings.Join(f.pages, ",") != "1,1000" {
		t.Errorf("code %d, pages of %q; %s", code, f.pages, said)
	}
}
