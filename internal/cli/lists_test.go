package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestListFlags: what they add stands behind what the document has.
func TestListFlags(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--secret b --secret c=TOKEN":                    `{"secrets":["a","b",{"name":"c","env":"TOKEN"}]}`,
		"--image a/b -v /srv:/data:ro --volume sub:/sub": `{"volumes":[{"path":"/data","hostPath":"/srv","readOnly":true},{"path":"/sub","hostPath":"` + here + `/sub"}]}`,
		"--port 80 --port web=81":                        `{"ports":[80,{"port":81,"name":"web"}]}`,
		"--check name=legal,type=approval,users=a+b":     `{"checks":[{"name":"legal","type":"approval","users":["a","b"]}]}`,
		"--retry 3":                                 `{"retry":{"limit":3}}`,
		"--kind inference --replicas 2":             `{"kind":"inference","replicas":2}`,
		"--kind inference --replicas 0":             `{"kind":"inference","replicas":0}`,
		"-it --kind workspace":                      `{"kind":"workspace","tty":true,"stdin":true,"restart":"never"}`,
		"-it --kind workspace --set restart=always": `{"restart":"always"}`,
		"-t":                              `{"tty":true}`,
		"--image a/b --set build.env.A=1": `{"build":{"env":{"A":"1"}}}`,
	} {
		doc, err := built(t, "command: ls\nsecrets: [a]\n", strings.Fields(args)...)
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		var got, part map[string]json.RawMessage
		if json.Unmarshal(data, &got) != nil || json.Unmarshal([]byte(want), &part) != nil {
			t.Fatal("not JSON")
		}
		for field, value := range part {
			if a, b := canonical(t, got[field]), canonical(t, value); a != b {
				t.Errorf("%s: %s is %s, want %s", args, field, a, b)
			}
		}
	}
	for args, says := range map[string]string{
		"--secret =x":               "NAME or NAME=VARIABLE",
		"-v /srv":                   "is not HOSTPATH:PATH",
		"-v /srv:/data:rx":          "neither ro nor rw",
		"--port 0":                  "is not PORT",
		"--port web":                "is not PORT",
		"--check name=a,kind=x":     "is not understood",
		"--check name=a,type=maybe": "checks[0].type",
		"--secret Not_A_Name":       "secrets[1].name",
		"--workers 2":               "workers",
		"--set secrets.2=b":         "there is no item 2, only 1",
		"--set secrets.0.nme=b":     "no such field",
	} {
		if _, err := built(t, "command: ls\nsecrets: [a]\n", strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", args, err, says)
		}
	}
}

// TestSomethingToRun: an image has a command of its own.
func TestSomethingToRun(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{"--image a/b": true, "--set command=ls": true, "--set image=a/b": true, "": false, "--gpus 1": false, "--set name=x": false} {
		if _, err := built(t, "", strings.Fields(args)...); (err == nil) != want {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// canonical is JSON with sorted names.
func canonical(t *testing.T, data json.RawMessage) string {
	t.Helper()
	var v any
	if len(data) == 0 {
		return "absent"
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
