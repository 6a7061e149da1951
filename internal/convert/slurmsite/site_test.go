package slurmsite

import (
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

func TestNamesOfNodes(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"a": "a", "a,b": "a b", "n[1-3]": "n1 n2 n3", "n[08-10]": "n08 n09 n10", "n[1,3-4]x": "n1x n3x n4x", "r[1-2]n[1-2]": "r1n1 r1n2 r2n1 r2n2",
		"n[1-2],gpu[7]": "n1 n2 gpu7",
	} {
		got, err := hosts(expression)
		if err != nil || !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %v, %v; want %s", expression, got, err, want)
		}
	}
	for _, wrong := range []string{"n[1", "n[a-b]", "n[3-1]", "n[1-200000]", "n[1-1000][1-1000]", "n[]", "n[-1]"} {
		if got, err := hosts(wrong); err == nil {
			t.Errorf("%s: %d names", wrong, len(got))
		}
	}
}

func TestCardsOfNodes(t *testing.T) {
	t.Parallel()
	for gres, want := range map[string]int{"": 0, "gpu:4": 4, "gpu": 1, "gpu:a100:8(S:0-1)": 8, "gpu:a100:2,gpu:v100:1,nic:2": 3, "gpu:a100": 1} {
		if got := gpusOf(gres); got != want {
			t.Errorf("%q: %d, want %d", gres, got, want)
		}
	}
}

func TestAmountsOfMemory(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"500": "500Mi", "16G": "16Gi", "2T": "2Ti", "512K": "512Ki"} {
		if got := memory(text); got == nil || *got != want {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
	for _, wrong := range []string{"", "G", "-1", "1GG", "many"} {
		if got := memory(wrong); got != nil {
			t.Errorf("%q: %s", wrong, *got)
		}
	}
}

// TestSharesKeepTheirProportion: where one account says more than the default, all
// accounts beside it say what they have, as our default is another.
func TestSharesKeepTheirProportion(t *testing.T) {
	t.Parallel()
	weights := func(dump string) string {
		s, err := Read("Cluster - 'c':Fairshare=1\nParent - 'root'\n" + dump)
		if err != nil {
			t.Fatal(err)
		}
		text, err := s.Text()
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, line := range strings.Split(text, "\n") {
			if name, ok := strings.CutPrefix(line, "name: "); ok {
				all = append(all, name)
			}
			if w, ok := strings.CutPrefix(strings.TrimSpace(line), "weight: "); ok && !strings.HasSuffix(all[len(all)-1], "="+w) {
				all[len(all)-1] += "=" + w
			}
		}
		return strings.Join(all, " ")
	}
	for dump, want := range map[string]string{
		"Account - 'a':Fairshare=1\nAccount - 'b'\n":             "a b",
		"Account - 'a':Fairshare=4\nAccount - 'b'\n":             "a=4 b=1",
		"Account - 'a':Fairshare=0\nAccount - 'b':Fairshare=1\n": "a=0 b=1",
		"Account - 'a':Fairshare=parent\nAccount - 'b'\n":        "a=1 b=1",
	} {
		if got := weights(dump); got != want {
			t.Errorf("%q: %s, want %s", dump, got, want)
		}
	}
}

// TestWhatIsPastedIsHarmless: names become words of commands that people run, and
// descriptions remarks of a file.
func TestWhatIsPastedIsHarmless(t *testing.T) {
	t.Parallel()
	s, err := Read("Cluster - 'c':Fairshare=1\nParent - 'root'\nAccount - 'a':Description='x\rkind: Pool'\nParent - 'a'\nUser - 'u; reboot'\nUser - '-u'\nUser - 'ann'\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Commands) != 2 || len(s.Notes) != 2 {
		t.Errorf("%q, %v", s.Commands, s.Notes)
	}
	if text, err := s.Text(); err != nil || strings.Contains(text, "\r") {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Read("PartitionName=p Nodes=$(reboot)\n"); err == nil {
		t.Error("a node of a strange name")
	}
}

// FuzzRead: whatever stands in a file, it is read or refused, and what is made is YAML.
func FuzzRead(f *testing.F) {
	f.Add("Cluster - 'c':Fairshare=1\nParent - 'root'\nAccount - 'a':Description='x: y':GrpTRES=gres/gpu=1\nUser - 'u':Coordinator='a'\n")
	f.Add("NodeName=n[1-2] Gres=gpu:1\nPartitionName=p Nodes=ALL Default=YES\n")
	f.Add("Cluster - 'c\nAccount - ")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Read(text)
		if err != nil {
			return
		}
		out, err := s.Text()
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range strings.Split(out, "\n---\n") {
			var m map[string]any
			if err := yaml.Unmarshal([]byte(doc), &m); err != nil {
				t.Fatalf("%v in\n%s", err, doc)
			}
		}
	})
}
